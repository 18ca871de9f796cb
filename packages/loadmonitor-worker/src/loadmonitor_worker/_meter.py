"""The measurements that cost something at every fire or write: taken only where somebody wants them."""

from dataclasses import dataclass, field

from loadmonitor_worker._verdict import ReportStatus, Verdict
from loadmonitor_worker.measurements import (
    FIRE_LAG_SECONDS_BOUNDS,
    PULL_SECONDS_BOUNDS,
    SNAPSHOT_AGE_SECONDS_BOUNDS,
    Histogram,
)


@dataclass(slots=True)
class Meter:
    """Fed by the fire loop and by the streams; see `Measurements` for what the numbers mean."""

    reports: dict[ReportStatus, int] = field(default_factory=lambda: dict.fromkeys(ReportStatus, 0))
    sent_bytes: int = 0
    pull_seconds: Histogram = field(default_factory=lambda: Histogram(PULL_SECONDS_BOUNDS))
    fire_lag_seconds: Histogram = field(default_factory=lambda: Histogram(FIRE_LAG_SECONDS_BOUNDS))
    snapshot_age_seconds: Histogram = field(default_factory=lambda: Histogram(SNAPSHOT_AGE_SECONDS_BOUNDS))

    def reported(self, verdict: Verdict, *, pull_ns: int, routers: int) -> None:
        """Count one report that was handed to so many routers."""
        self.reports[verdict.status] += routers
        self.pull_seconds.observe(pull_ns / 1e9)
        if verdict.max_snapshot_age_ms is not None:
            self.snapshot_age_seconds.observe(verdict.max_snapshot_age_ms / 1_000)
