from collections.abc import Callable as Callable
from loadmonitor_router._clock import SystemClock as SystemClock
from loadmonitor_router.age import Freshness as Freshness
from loadmonitor_router.cli._output import Output as Output
from loadmonitor_router.cli._process import own_router_id as own_router_id, quiet_library as quiet_library, stop_signals as stop_signals
from loadmonitor_router.cli._view import WorkerView as WorkerView, view as view
from loadmonitor_router.cli._workers import Finding as Finding
from loadmonitor_router.client import MonitorClient as MonitorClient
from loadmonitor_router.config import ClientConfig as ClientConfig
from loadmonitor_router.connection import Connection as Connection, ConnectionState as ConnectionState
from loadmonitor_router.credentials import Credentials as Credentials, PLAINTEXT as PLAINTEXT
from loadmonitor_router.discovery import Discovery as Discovery
from loadmonitor_router.errors import StreamRefusedError as StreamRefusedError
from loadmonitor_router.interfaces import Clock as Clock
from loadmonitor_router.reports import WorkerReport as WorkerReport
from loadmonitor_router.snapshot import WorkerTarget as WorkerTarget

class Watch:
    def __init__(self, discovery: Discovery, output: Output, *, report_interval_ms: int = 1000, lease_ttl_ms: int = 15000, credentials: Credentials = ..., clock: Clock | None = None) -> None: ...
    async def forever(self) -> int: ...
    async def until_fresh(self, timeout_seconds: float) -> int: ...
    async def first(self, timeout_seconds: float) -> int: ...
    def stop(self, code: int) -> None: ...
