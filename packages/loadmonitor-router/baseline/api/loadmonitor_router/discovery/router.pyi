from loadmonitor_router._redaction import without_password as without_password
from loadmonitor_router.discovery._poll import PollingDiscovery as PollingDiscovery
from loadmonitor_router.discovery.targets import DEFAULT_REPORTER_PORT as DEFAULT_REPORTER_PORT, check_port as check_port
from loadmonitor_router.discovery.worker_list import parse_worker_list as parse_worker_list
from loadmonitor_router.errors import ConfigError as ConfigError, DiscoveryError as DiscoveryError, WorkerListError as WorkerListError
from loadmonitor_router.interfaces import Clock as Clock
from loadmonitor_router.snapshot import WorkerTarget as WorkerTarget

class RouterDiscovery(PollingDiscovery):
    def __init__(self, url: str, *, reporter_port: int = ..., api_key: str | None = None, interval_seconds: float = 2.0, timeout_seconds: float = 5.0, clock: Clock | None = None) -> None: ...
    async def aclose(self) -> None: ...
