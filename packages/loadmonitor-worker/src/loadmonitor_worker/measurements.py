"""What a reporter measures of itself. Counting is free; timings are taken from the first `LoadReporter.measure` on."""

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field

from loadmonitor_worker.state import WorkerState

PULL_SECONDS_BOUNDS: tuple[float, ...] = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
FIRE_LAG_SECONDS_BOUNDS: tuple[float, ...] = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0)
SNAPSHOT_AGE_SECONDS_BOUNDS: tuple[float, ...] = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


@dataclass(slots=True)
class Histogram:
    """Observations by size.

    Attributes:
        upper_bounds: Of the buckets, ascending, without infinity.
        counts: Observations in each bucket alone; one more than there are bounds.
        sum: Of all observations.
    """

    upper_bounds: tuple[float, ...]
    counts: list[int] = field(init=False)
    sum: float = 0.0

    def __post_init__(self) -> None:
        self.counts = [0] * (len(self.upper_bounds) + 1)

    def observe(self, value: float) -> None:
        """Count one observation, in the first bucket whose bound it doesn't exceed."""
        self.counts[bisect_left(self.upper_bounds, value)] += 1
        self.sum += value


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurements:
    """A reporter at one moment; counts are those since it started, save those that say otherwise.

    Attributes:
        fires: Deadlines at which the engine was read.
        coalesced_reports: Reports that a router did not get: it had no credit, or a newer one took the slot.
        clamped_values: Values above their capacity that were capped.
        sessions: Routers registered now.
        unacked_reports: Reports that acknowledging routers were sent, or are about to be, and have not acknowledged.
        orca_streams: ORCA clients that are reported to now.
        session_events: What became of sessions: registered, stopped, lost, lease_expired, replaced, shut_down.
        refused: Streams ended for what their router did, by the error code.
        last_status: Of the newest report: HEALTHY, STALE or UNREACHABLE; None before the first, which a router brings about.
        worker_state: What routers are told of the engine, or None.
        reports: Reports handed to routers' streams, by status; since measuring began.
        sent_bytes: Of the frames written, without what HTTP/2 adds; since measuring began.
        pull_seconds: From the start of a read to its outcome; of a read that hangs, so far. Since measuring began.
        fire_lag_seconds: How late the reporter was at a deadline; since measuring began.
        snapshot_age_seconds: Age of the oldest rank in each report, where it is known; since measuring began.
    """

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
