import asyncio
from _typeshed import Incomplete
from collections import Counter
from collections.abc import Callable as Callable, Mapping
from loadmonitor_router._view import WorkerView as WorkerView, narrow_window as narrow_window, view_connection as view_connection, view_report as view_report
from loadmonitor_router.client import MonitorClient as MonitorClient
from loadmonitor_router.config import ClientConfig as ClientConfig
from loadmonitor_router.connection import Connection as Connection, ConnectionState as ConnectionState
from loadmonitor_router.credentials import Credentials as Credentials
from loadmonitor_router.interfaces import Clock as Clock
from loadmonitor_router.pressure import PrefillRates as PrefillRates
from loadmonitor_router.reports import WorkerReport as WorkerReport
from loadmonitor_router.snapshot import WorkerTarget as WorkerTarget
from loadmonitor_router.stats import Histogram as Histogram, ReconnectReason as ReconnectReason

class Watch:
    stopped: bool
    target: Incomplete
    view: Incomplete
    def __init__(self, target: WorkerTarget, config: ClientConfig, *, freshness_ms: int, credentials: Credentials, options: Mapping[str, int | str] | None, clock: Clock, publish: Callable[[WorkerView], None], reconnects: Counter[ReconnectReason], delivery_age_seconds: Histogram) -> None: ...
    @property
    def connection(self) -> Connection: ...
    def start(self) -> asyncio.Task[None]: ...
    def stop(self) -> None: ...
    def expire(self, now_ns: int) -> None: ...
