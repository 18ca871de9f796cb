from router_lifecycle.publication.engine import EngineLifecycle as EngineLifecycle, EngineRecord as EngineRecord, StopReport as StopReport
from router_lifecycle.publication.errors import EngineStateError as EngineStateError, EngineStopError as EngineStopError, GateError as GateError, PublicationError as PublicationError, StaleWeightError as StaleWeightError, URLUnresolvedError as URLUnresolvedError
from router_lifecycle.publication.events import GateEvent as GateEvent, GateEventKind as GateEventKind, GateEventListener as GateEventListener
from router_lifecycle.publication.fleet import GatedFleet as GatedFleet
from router_lifecycle.publication.gate import PublicationGate as PublicationGate
from router_lifecycle.publication.generations import EngineEntry as EngineEntry, EngineGeneration as EngineGeneration, EngineState as EngineState, ModelEntry as ModelEntry, WeightSnapshot as WeightSnapshot
from router_lifecycle.publication.guard import GuardPolicy as GuardPolicy, GuardRule as GuardRule, WeightVersionGuard as WeightVersionGuard, WeightVersionSpan as WeightVersionSpan
from router_lifecycle.publication.interfaces import EngineLauncher as EngineLauncher, PublishedVersions as PublishedVersions, RunningRequests as RunningRequests, WeightTransfer as WeightTransfer
from router_lifecycle.publication.report import PublishReport as PublishReport
from router_lifecycle.publication.responses import check_response as check_response, check_session_record as check_session_record
from router_lifecycle.publication.unresolved import UnresolvedRemovals as UnresolvedRemovals
from router_lifecycle.publication.versions import FilePublishedVersions as FilePublishedVersions, MemoryPublishedVersions as MemoryPublishedVersions

__all__ = ['EngineLifecycle', 'EngineRecord', 'StopReport', 'EngineStateError', 'EngineStopError', 'GateError', 'PublicationError', 'StaleWeightError', 'URLUnresolvedError', 'GateEvent', 'GateEventKind', 'GateEventListener', 'GatedFleet', 'PublicationGate', 'EngineEntry', 'EngineGeneration', 'EngineState', 'ModelEntry', 'WeightSnapshot', 'GuardPolicy', 'GuardRule', 'WeightVersionGuard', 'WeightVersionSpan', 'EngineLauncher', 'PublishedVersions', 'RunningRequests', 'WeightTransfer', 'PublishReport', 'check_response', 'check_session_record', 'UnresolvedRemovals', 'FilePublishedVersions', 'MemoryPublishedVersions']
