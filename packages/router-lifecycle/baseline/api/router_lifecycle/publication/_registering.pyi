from collections.abc import Callable as Callable, Iterable
from router_lifecycle.errors import IdentityConflict as IdentityConflict, RegistrationFailed as RegistrationFailed, RouterLifecycleError as RouterLifecycleError, SubmissionUnknown as SubmissionUnknown
from router_lifecycle.publication.engine import EngineLifecycle as EngineLifecycle
from router_lifecycle.publication.errors import EngineStateError as EngineStateError, EngineStopError as EngineStopError
from router_lifecycle.publication.gate import PublicationGate as PublicationGate
from router_lifecycle.publication.generations import EngineGeneration as EngineGeneration
from router_lifecycle.publication.report import PublishReport as PublishReport

class Registering:
    def __init__(self, gate: PublicationGate, find_engine: Callable[[str], EngineLifecycle], *, timeout_seconds: float) -> None: ...
    async def register(self, generations: Iterable[EngineGeneration]) -> PublishReport: ...
