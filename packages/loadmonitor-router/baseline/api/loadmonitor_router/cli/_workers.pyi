import asyncio
from collections.abc import AsyncIterator, Callable as Callable, Sequence
from contextlib import asynccontextmanager
from loadmonitor_router.age import DEFAULT_FRESHNESS_MS as DEFAULT_FRESHNESS_MS
from loadmonitor_router.config import normalize_address as normalize_address
from loadmonitor_router.credentials import Credentials as Credentials
from loadmonitor_router.discovery import DEFAULT_REPORTER_PORT as DEFAULT_REPORTER_PORT, Discovery as Discovery, StaticDiscovery as StaticDiscovery, parse_discovery as parse_discovery
from loadmonitor_router.errors import ConfigError as ConfigError, LoadMonitorRouterError as LoadMonitorRouterError
from loadmonitor_router.monitor import LoadMonitor as LoadMonitor
from loadmonitor_router.snapshot import WorkerTarget as WorkerTarget

def named(addresses: Sequence[str]) -> tuple[WorkerTarget, ...]: ...
def choose_workers(command: str, addresses: Sequence[str], discover: str | None, reporter_port: int | None) -> Discovery: ...
def make_monitor(router_id: str, report_interval_ms: int, lease_ttl_ms: int, credentials: Credentials) -> LoadMonitor: ...

class Finding:
    known: bool
    final: bool
    def __init__(self, discovery: Discovery, apply: Callable[[tuple[WorkerTarget, ...]], None]) -> None: ...
    @asynccontextmanager
    async def looking(self) -> AsyncIterator[asyncio.Task[None]]: ...
    @property
    def trouble(self) -> str | None: ...

class TroubleLines:
    def __init__(self) -> None: ...
    def tell(self, trouble: str | None) -> None: ...
