from collections.abc import Awaitable, Callable as Callable, Iterable
from dataclasses import dataclass
from router_lifecycle.errors import RouterLifecycleError as RouterLifecycleError
from router_lifecycle.models import Worker as Worker
from router_lifecycle.spec import WorkerSpec as WorkerSpec

@dataclass(frozen=True, slots=True)
class RegistrationResult:
    url: str
    worker: Worker | None = ...
    error: RouterLifecycleError | None = ...

async def register_beside(register: Callable[[WorkerSpec], Awaitable[Worker]], workers: Iterable[WorkerSpec], concurrency: int) -> list[RegistrationResult]: ...
