from collections.abc import Callable as Callable, Mapping
from loadmonitor_router._backoff import Backoff as Backoff
from loadmonitor_router._clock import Signal as Signal, SystemClock as SystemClock
from loadmonitor_router._dialogue import Dialogue as Dialogue, LEAVE_NS as LEAVE_NS
from loadmonitor_router._fork import check_not_forked as check_not_forked
from loadmonitor_router._ingest import Ingest as Ingest
from loadmonitor_router._link import Link as Link, NoServiceError as NoServiceError, UnheardError as UnheardError
from loadmonitor_router._losses import describe_loss as describe_loss, pings_after as pings_after
from loadmonitor_router._slot import ReportSlot as ReportSlot
from loadmonitor_router._stream import StreamLostError as StreamLostError, StreamSession as StreamSession
from loadmonitor_router.config import ClientConfig as ClientConfig, normalize_address as normalize_address
from loadmonitor_router.connection import Connection as Connection, ConnectionState as ConnectionState, Grant as Grant, TlsFault as TlsFault
from loadmonitor_router.credentials import Credentials as Credentials, PLAINTEXT as PLAINTEXT
from loadmonitor_router.errors import ClientStateError as ClientStateError, ConfigError as ConfigError
from loadmonitor_router.interfaces import Clock as Clock
from loadmonitor_router.reports import WorkerReport as WorkerReport
from types import TracebackType
from typing import Self

class MonitorClient:
    address: str
    config: ClientConfig
    def __init__(self, address: str, *, router_id: str, report_interval_ms: int = 1000, lease_ttl_ms: int = 15000, max_unacked_reports: int | None = 1, connect_timeout_ms: int = 2000, ack_timeout_ms: int = 2000, credentials: Credentials = ..., options: Mapping[str, int | str] | None = None, on_connection: Callable[[Connection], None] | None = None, on_report: Callable[[WorkerReport], None] | None = None, clock: Clock | None = None) -> None: ...
    async def __aenter__(self) -> Self: ...
    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None: ...
    def __aiter__(self) -> Self: ...
    async def __anext__(self) -> WorkerReport: ...
    @property
    def connection(self) -> Connection: ...
    async def close(self) -> None: ...
