"""How old a report's numbers are, and what may be concluded from them.

    age = own age + delivery delay + time since receipt

- The own age is the Worker's statement `max_snapshot_age_ms`, or the distance between `report_time_unix_ms` and the
  oldest rank's snapshot time, both of the Worker's machine, where an older Worker makes no such statement.
- The delivery delay is an upper bound found while receiving (`Receipt.delay_ms`).
- The time since receipt is monotonic.

No term compares the clocks of two machines, so no clock that is wrong or steps can make an old report look new. A term
that isn't known makes the age unknown, and what is of unknown age isn't fresh.
"""

from dataclasses import dataclass
from enum import StrEnum

from loadmonitor_router.reports import RankLoad, ReportStatus, WorkerReport

DEFAULT_FRESHNESS_MS = 3_000
"""How old a report may be and still count as fresh, unless the caller knows better."""

_NS_PER_MS = 1_000_000
_ROUNDING_MS = 1  # two times of one clock, each rounded to a millisecond


class Freshness(StrEnum):
    """What a Router may conclude from the last report of a Worker."""

    FRESH = "fresh"
    """HEALTHY, complete, and younger than the freshness window: the numbers may be acted upon."""
    STALE = "stale"
    """There are numbers, but they are too old, incomplete or of unknown age: for people only."""
    UNREACHABLE = "unreachable"
    """The Worker answers, its engine doesn't: there are no numbers."""
    MISSING = "missing"
    """There is no report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """A verdict on one Worker at one moment.

    Attributes:
        freshness: The verdict.
        age_ms: Age of the oldest number in the report, in milliseconds; None when unknown or when there is none.
        reason: Why the verdict isn't FRESH, for people; None when it is.
    """

    freshness: Freshness
    age_ms: float | None
    reason: str | None


def own_age_ms(report: WorkerReport) -> float | None:
    """Return how old the report's oldest rank was when the report was built, in milliseconds, or None when unknown.

    Without `max_snapshot_age_ms` every rank must carry a time that isn't after the report's own; otherwise the Worker's
    clock was stepped in between, or a rank's age isn't known.
    """
    if report.max_snapshot_age_ms is not None:
        return report.max_snapshot_age_ms
    oldest = _oldest_snapshot_unix_ms(report)
    if oldest is None or report.report_time_unix_ms is None:
        return None
    age = report.report_time_unix_ms - oldest
    return None if age < -_ROUNDING_MS else max(0, age)


def age_ms(report: WorkerReport, now_ns: int) -> float | None:
    """Return an upper bound of the age of the report's oldest number, in milliseconds, or None when nothing bounds it.

    Args:
        report: A report as its client handed it over.
        now_ns: Now, on the clock of the client that received the report.
    """
    return _grown(report, own_age_ms(report), now_ns)


def rank_age_ms(report: WorkerReport, rank: RankLoad, now_ns: int) -> float | None:
    """Return the age of one rank's numbers in milliseconds, or None when unknown; the oldest rank's is `age_ms`."""
    own = own_age_ms(report)
    if own is None or rank.snapshot_time_unix_ms is None:
        return None
    oldest = min(other.snapshot_time_unix_ms for other in report.ranks if other.snapshot_time_unix_ms is not None)
    return _grown(report, max(0, own - (rank.snapshot_time_unix_ms - oldest)), now_ns)


def _grown(report: WorkerReport, own_ms: float | None, now_ns: int) -> float | None:
    if own_ms is None or report.receipt.delay_ms is None:
        return None
    return own_ms + report.receipt.delay_ms + (now_ns - report.receipt.monotonic_ns) / _NS_PER_MS


def assess(report: WorkerReport | None, now_ns: int, freshness_ms: float = DEFAULT_FRESHNESS_MS) -> Assessment:
    """Judge the last report of a Worker.

    Args:
        report: The newest report handed over, or None when there is none.
        now_ns: Now, on the clock of the client that received the report.
        freshness_ms: A report of this age is still fresh, an older one isn't.
    """
    if report is None:
        return Assessment(freshness=Freshness.MISSING, age_ms=None, reason="no report yet")
    age = age_ms(report, now_ns)
    if report.status is ReportStatus.UNREACHABLE:
        return Assessment(freshness=Freshness.UNREACHABLE, age_ms=None, reason=report.last_error)
    reason = _why_not_fresh(report, age, freshness_ms)
    return Assessment(freshness=Freshness.FRESH if reason is None else Freshness.STALE, age_ms=age, reason=reason)


def _why_not_fresh(report: WorkerReport, age: float | None, freshness_ms: float) -> str | None:
    if report.status is ReportStatus.STALE:
        return report.last_error or "the Worker says STALE and not why"
    incomplete = [
        rank.dp_rank for rank in report.ranks if rank.max_total_num_tokens is None or rank.max_running_requests is None
    ]
    if incomplete:
        return f"no capacity published by rank {', '.join(map(str, incomplete))}"
    if age is None:
        term = "the time of a rank's snapshot" if own_age_ms(report) is None else "the delivery delay"
        return f"age unknown: {term} is unknown"
    if age > freshness_ms:
        return f"{age:.0f} ms old, fresh is up to {freshness_ms:.0f} ms"
    return None


def _oldest_snapshot_unix_ms(report: WorkerReport) -> int | None:
    times = [rank.snapshot_time_unix_ms for rank in report.ranks]
    known = [time for time in times if time is not None]
    return min(known) if known and len(known) == len(times) else None
