"""What one attempt to read the engine says about it: HEALTHY, STALE or UNREACHABLE. Nothing else is looked at."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from loadmonitor_worker._validate import name_ranks
from loadmonitor_worker.snapshot import RankSnapshot

FUTURE_TOLERANCE_MS = 1_000
"""A snapshot stamped further in the future than this has no usable timestamp: it would look new for too long."""


class ReportStatus(StrEnum):
    """The status of a report, named as on the wire."""

    HEALTHY = "HEALTHY"
    STALE = "STALE"
    UNREACHABLE = "UNREACHABLE"


@dataclass(frozen=True, slots=True)
class Attempt:
    """What one bounded pull came to: a complete, valid, sorted rank set, or the reason why there is none."""

    ranks: Sequence[RankSnapshot] = ()
    error: str | None = None
    clamped: int = 0


@dataclass(frozen=True, slots=True)
class Verdict:
    """The status of a report, why it isn't HEALTHY, and the age of its oldest rank in milliseconds if any is known."""

    status: ReportStatus
    last_error: str | None
    max_snapshot_age_ms: int | None


def judge(attempt: Attempt, *, now_unix_ms: int, stale_after_ms: int) -> Verdict:
    """Judge an attempt by itself: no history, no earlier report.

    A rank is stale when it is older than `stale_after_ms`, strictly. A rank without a usable timestamp, or without a
    published capacity, makes the report STALE too, because nothing says that its numbers mean anything yet.
    """
    if attempt.error is not None:
        return Verdict(ReportStatus.UNREACHABLE, attempt.error, None)
    reasons, age = _judge_stamps(attempt.ranks, now_unix_ms, stale_after_ms)
    unsized = [rank.dp_rank for rank in attempt.ranks if not (rank.max_total_num_tokens and rank.max_running_requests)]
    if unsized:
        reasons.append(f"{name_ranks(unsized)} without a published capacity")
    if reasons:
        return Verdict(ReportStatus.STALE, "; ".join(reasons), age)
    return Verdict(ReportStatus.HEALTHY, None, age)


def _judge_stamps(ranks: Sequence[RankSnapshot], now_unix_ms: int, stale_after_ms: int) -> tuple[list[str], int | None]:
    """Return what is wrong with the ranks' timestamps, and the age of the oldest that is usable."""
    oldest: int | None = None
    undated, ahead = [], []
    for rank in ranks:
        stamp = rank.snapshot_time_unix_ms
        if not stamp:
            undated.append(rank.dp_rank)
        elif stamp > now_unix_ms + FUTURE_TOLERANCE_MS:
            ahead.append(rank.dp_rank)
        elif oldest is None or stamp < oldest:
            oldest = stamp
    age = None if oldest is None else max(0, now_unix_ms - oldest)
    reasons = []
    if age is not None and age > stale_after_ms:
        late = [
            rank.dp_rank
            for rank in ranks
            if rank.snapshot_time_unix_ms and now_unix_ms - rank.snapshot_time_unix_ms > stale_after_ms
        ]
        reasons.append(f"{name_ranks(late)} stale by {age - stale_after_ms} ms")
    if undated:
        reasons.append(f"{name_ranks(undated)} without a usable timestamp")
    if ahead:
        reasons.append(f"{name_ranks(ahead)} without a usable timestamp: it lies in the future, so compare the clocks")
    return reasons, age
