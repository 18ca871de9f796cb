from collections.abc import Awaitable, Callable, Sequence
from loadmonitor_worker.config import ReporterConfig as ReporterConfig
from loadmonitor_worker.errors import MissingHookError as MissingHookError, ServingModeError as ServingModeError
from loadmonitor_worker.integrations._running import running_reporter as running_reporter
from loadmonitor_worker.interfaces import LoadSnapshotSource as LoadSnapshotSource
from loadmonitor_worker.reporter import LoadReporter as LoadReporter
from loadmonitor_worker.sources import ManagerSource as ManagerSource
from typing import Any, Protocol

HOOK: str
SERVICER_IMPL_VARIABLE: str

class RequestManager(Protocol):
    async def get_loads(self, include: list[str]) -> Sequence[object]: ...

class ServerArgs(Protocol):
    @property
    def dp_size(self) -> int: ...
Ready = Callable[[Any, Any, Any], Awaitable[None]]

class _ManagerOfServicer:
    def __init__(self, manager: RequestManager, server_args: ServerArgs) -> None: ...
    @property
    def elastic_worker_count(self) -> int: ...
    async def get_loads(self, include: list[str] | None = None) -> Sequence[object]: ...

def request_manager_source(manager: RequestManager, server_args: ServerArgs) -> LoadSnapshotSource: ...
async def serve_with_reporter(serve: Callable[..., Awaitable[_T]], server_args: ServerArgs, *arguments: object, config: ReporterConfig, on_request_manager_ready: Ready | None = None, on_reporter_ready: Callable[[LoadReporter], None] | None = None, **named: object) -> _T: ...
