import grpc.aio
from _typeshed import Incomplete
from collections.abc import Awaitable, Callable as Callable
from enum import IntEnum
from p2p_registry.errors import BackendError as BackendError
from p2p_registry.interfaces import Backend as Backend
from p2p_registry.server import SERVICE_NAME as SERVICE_NAME
from typing import Final

HEALTH: Final[str]
MAX_WATCHERS: Final[int]
PING_EVERY_SECONDS: Final[float]
PING_SECONDS: Final[float]

class ServingStatus(IntEnum):
    UNKNOWN = 0
    SERVING = 1
    NOT_SERVING = 2
    SERVICE_UNKNOWN = 3

HealthCheckRequest: Incomplete
HealthCheckResponse: Incomplete

class Health:
    def __init__(self, backend: Backend) -> None: ...
    @property
    def fault(self) -> str | None: ...
    def doubt(self) -> None: ...
    async def look(self) -> None: ...
    async def look_forever(self, *, sleep: Callable[[float], Awaitable[object]] = ...) -> None: ...
    def shut_down(self) -> None: ...
    def add_to(self, server: grpc.aio.Server) -> None: ...
