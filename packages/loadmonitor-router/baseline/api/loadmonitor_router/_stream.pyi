import loadmonitor_proto as wire
from _typeshed import Incomplete
from loadmonitor_router._acks import AckTiming as AckTiming
from loadmonitor_router._delay import CreditedDelay as CreditedDelay, EstimatedDelay as EstimatedDelay
from loadmonitor_router._ingest import Ingest as Ingest
from loadmonitor_router._line import line_of as line_of
from loadmonitor_router.config import ClientConfig as ClientConfig
from loadmonitor_router.connection import Grant as Grant, TlsFault as TlsFault
from loadmonitor_router.errors import LoadMonitorRouterError as LoadMonitorRouterError, StreamRefusedError as StreamRefusedError
from loadmonitor_router.reports import Receipt as Receipt, WorkerReport as WorkerReport

class StreamLostError(LoadMonitorRouterError):
    code: Incomplete
    fault: Incomplete
    def __init__(self, message: str, code: str | None = None, *, fault: TlsFault | None = None) -> None: ...

class StreamSession:
    grant: Grant | None
    window: int
    restart_reason: str | None
    def __init__(self, address: str, config: ClientConfig, ingest: Ingest) -> None: ...
    @property
    def wake_at_ns(self) -> int: ...
    def patience(self, now_ns: int) -> tuple[int, str]: ...
    def next_frame(self, now_ns: int) -> wire.RouterFrame | None: ...
    def receive(self, frame: wire.WorkerFrame | None, now_ns: int) -> WorkerReport | None: ...
    def processed(self, sequence_id: int) -> bool: ...
