from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from loadmonitor_router.config import normalize_address as normalize_address
from loadmonitor_router.errors import ConfigError as ConfigError, DuplicateWorkerError as DuplicateWorkerError
from loadmonitor_router.snapshot import WorkerTarget as WorkerTarget

@dataclass(frozen=True, slots=True, kw_only=True)
class FleetChange:
    stop: tuple[WorkerTarget, ...]
    start: tuple[WorkerTarget, ...]

def compare_fleet(known: Mapping[str, WorkerTarget], wanted: Iterable[WorkerTarget]) -> FleetChange: ...
def normalize_url(url: str) -> str: ...
