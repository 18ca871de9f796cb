from _typeshed import Incomplete
from dataclasses import dataclass, field
from loadmonitor_worker._verdict import ReportStatus as ReportStatus, Verdict as Verdict
from loadmonitor_worker.measurements import FIRE_LAG_SECONDS_BOUNDS as FIRE_LAG_SECONDS_BOUNDS, Histogram as Histogram, PULL_SECONDS_BOUNDS as PULL_SECONDS_BOUNDS, SNAPSHOT_AGE_SECONDS_BOUNDS as SNAPSHOT_AGE_SECONDS_BOUNDS

@dataclass(slots=True)
class Meter:
    reports: dict[ReportStatus, int] = field(default_factory=Incomplete)
    sent_bytes: int = ...
    pull_seconds: Histogram = field(default_factory=Incomplete)
    fire_lag_seconds: Histogram = field(default_factory=Incomplete)
    snapshot_age_seconds: Histogram = field(default_factory=Incomplete)
    def reported(self, verdict: Verdict, *, pull_ns: int, routers: int) -> None: ...
