from collections.abc import Callable as Callable
from loadmonitor_router._stream import StreamLostError as StreamLostError
from loadmonitor_router.connection import TlsFault as TlsFault
from loadmonitor_router.credentials import Credentials as Credentials

class TlsError(StreamLostError):
    def __init__(self, fault: TlsFault, message: str) -> None: ...

async def explain_failure(loss: StreamLostError, address: str, given: Credentials) -> StreamLostError: ...
