import os
from loadmonitor_router.discovery._poll import PollingDiscovery as PollingDiscovery
from loadmonitor_router.discovery.targets import DEFAULT_REPORTER_PORT as DEFAULT_REPORTER_PORT, check_port as check_port, target_of as target_of, target_set as target_set
from loadmonitor_router.errors import ConfigError as ConfigError, DiscoveryError as DiscoveryError, WorkerListError as WorkerListError
from loadmonitor_router.interfaces import Clock as Clock
from loadmonitor_router.snapshot import WorkerTarget as WorkerTarget

class FileDiscovery(PollingDiscovery):
    def __init__(self, path: str | os.PathLike[str], *, reporter_port: int = ..., interval_seconds: float = 1.0, clock: Clock | None = None) -> None: ...

def parse_worker_file(content: bytes, reporter_port: int) -> tuple[WorkerTarget, ...]: ...
