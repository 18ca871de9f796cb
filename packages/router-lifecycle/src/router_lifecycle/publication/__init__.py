"""An engine is routable only with synchronised weights, and responses prove it.

`PublicationGate` decides, `EngineLifecycle` starts, registers and stops one engine, `GatedFleet` does it for all of them around a
trainer's transfers, and `WeightVersionGuard` checks the responses.
"""

from router_lifecycle.publication.engine import EngineLifecycle, EngineRecord, StopReport
from router_lifecycle.publication.errors import (
    EngineStateError,
    EngineStopError,
    GateError,
    PublicationError,
    StaleWeightError,
    URLUnresolvedError,
)
from router_lifecycle.publication.events import GateEvent, GateEventKind, GateEventListener
from router_lifecycle.publication.fleet import GatedFleet
from router_lifecycle.publication.gate import PublicationGate
from router_lifecycle.publication.generations import (
    EngineEntry,
    EngineGeneration,
    EngineState,
    ModelEntry,
    WeightSnapshot,
)
from router_lifecycle.publication.guard import GuardPolicy, GuardRule, WeightVersionGuard, WeightVersionSpan
from router_lifecycle.publication.interfaces import EngineLauncher, PublishedVersions, RunningRequests, WeightTransfer
from router_lifecycle.publication.report import PublishReport
from router_lifecycle.publication.responses import check_response, check_session_record
from router_lifecycle.publication.unresolved import UnresolvedRemovals
from router_lifecycle.publication.versions import FilePublishedVersions, MemoryPublishedVersions

__all__ = [
    "EngineEntry",
    "EngineGeneration",
    "EngineLauncher",
    "EngineLifecycle",
    "EngineRecord",
    "EngineState",
    "EngineStateError",
    "EngineStopError",
    "FilePublishedVersions",
    "GateError",
    "GateEvent",
    "GateEventKind",
    "GateEventListener",
    "GatedFleet",
    "GuardPolicy",
    "GuardRule",
    "MemoryPublishedVersions",
    "ModelEntry",
    "PublicationError",
    "PublicationGate",
    "PublishReport",
    "PublishedVersions",
    "RunningRequests",
    "StaleWeightError",
    "StopReport",
    "URLUnresolvedError",
    "UnresolvedRemovals",
    "WeightSnapshot",
    "WeightTransfer",
    "WeightVersionGuard",
    "WeightVersionSpan",
    "check_response",
    "check_session_record",
]
