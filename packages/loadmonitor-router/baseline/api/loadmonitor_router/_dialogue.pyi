from _typeshed import Incomplete
from collections.abc import Callable as Callable
from loadmonitor_router._clock import Signal as Signal
from loadmonitor_router._handshake import explain_failure as explain_failure
from loadmonitor_router._link import Link as Link
from loadmonitor_router._stream import StreamLostError as StreamLostError, StreamSession as StreamSession
from loadmonitor_router.credentials import Credentials as Credentials
from loadmonitor_router.errors import LoadMonitorRouterError as LoadMonitorRouterError
from loadmonitor_router.interfaces import Clock as Clock

LEAVE_NS: Incomplete

class Dialogue:
    def __init__(self, link: Link, signal: Signal, clock: Clock, closing: Callable[[], bool]) -> None: ...
    async def connect(self, address: str, credentials: Credentials, timeout_ms: int) -> bool: ...
    async def hears_nothing(self) -> bool: ...
    async def speak(self, session: StreamSession) -> None: ...
    async def take_leave(self) -> None: ...
