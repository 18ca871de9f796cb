from collections.abc import Mapping
from dataclasses import dataclass, field
from loadmonitor_worker.state import WorkerState as WorkerState

PULL_SECONDS_BOUNDS: tuple[float, ...]
FIRE_LAG_SECONDS_BOUNDS: tuple[float, ...]
SNAPSHOT_AGE_SECONDS_BOUNDS: tuple[float, ...]

@dataclass(slots=True)
class Histogram:
    upper_bounds: tuple[float, ...]
    counts: list[int] = field(init=False)
    sum: float = ...
    def __post_init__(self) -> None: ...
    def observe(self, value: float) -> None: ...

@dataclass(frozen=True, slots=True, kw_only=True)
class Measurements:
    fires: int
    coalesced_reports: int
    clamped_values: int
    sessions: int
    unacked_reports: int
    orca_streams: int
    session_events: Mapping[str, int]
    refused: Mapping[str, int]
    last_status: str | None
    worker_state: WorkerState | None
    reports: Mapping[str, int]
    sent_bytes: int
    pull_seconds: Histogram
    fire_lag_seconds: Histogram
    snapshot_age_seconds: Histogram
