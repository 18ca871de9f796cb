"""An engine is routable only with synchronised weights, and responses prove it."""

from router_lifecycle.publication.errors import GateError, PublicationError
from router_lifecycle.publication.events import GateEvent, GateEventKind, GateEventListener
from router_lifecycle.publication.gate import PublicationGate
from router_lifecycle.publication.generations import (
    EngineEntry,
    EngineGeneration,
    EngineState,
    ModelEntry,
    WeightSnapshot,
)

__all__ = [
    "EngineEntry",
    "EngineGeneration",
    "EngineState",
    "GateError",
    "GateEvent",
    "GateEventKind",
    "GateEventListener",
    "ModelEntry",
    "PublicationError",
    "PublicationGate",
    "WeightSnapshot",
]
