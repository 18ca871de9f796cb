from _typeshed import Incomplete
from collections.abc import Awaitable, Callable as Callable
from dataclasses import dataclass
from pydantic import BaseModel
from router_lifecycle.client import RouterLifecycleClient as RouterLifecycleClient
from router_lifecycle.errors import RouterLifecycleError as RouterLifecycleError
from router_lifecycle.handle import Phase as Phase, RegistrationHandle as RegistrationHandle
from router_lifecycle.models import Worker as Worker
from router_lifecycle.publication._bounded import within as within
from router_lifecycle.publication.errors import EngineStateError as EngineStateError, EngineStopError as EngineStopError, URLUnresolvedError as URLUnresolvedError
from router_lifecycle.publication.generations import EngineGeneration as EngineGeneration
from router_lifecycle.publication.interfaces import EngineLauncher as EngineLauncher
from router_lifecycle.publication.unresolved import UnresolvedRemovals as UnresolvedRemovals
from router_lifecycle.spec import WorkerSpec as WorkerSpec

class EngineRecord(BaseModel):
    generation: EngineGeneration
    handle: RegistrationHandle | None

@dataclass(frozen=True, slots=True)
class StopReport:
    generation: EngineGeneration
    deregistration_error: BaseException | None = ...
    stop_error: Exception | None = ...

class EngineLifecycle:
    engine_id: Incomplete
    model: Incomplete
    record: Incomplete
    def __init__(self, engine_id: str, model: str, launcher: EngineLauncher, client: RouterLifecycleClient, unresolved: UnresolvedRemovals, *, record: EngineRecord | None = None, deregistration_timeout_seconds: float = 10.0, stop_timeout_seconds: float = 30.0, sleep: Callable[[float], Awaitable[None]] = ...) -> None: ...
    @property
    def generation(self) -> EngineGeneration | None: ...
    @property
    def url(self) -> str | None: ...
    async def start(self) -> EngineGeneration: ...
    async def register(self, generation: EngineGeneration, *, timeout_seconds: float = 240.0) -> Worker: ...
    async def deregister(self) -> RouterLifecycleError | None: ...
    async def stop(self) -> StopReport | None: ...
    async def is_alive(self) -> bool: ...
