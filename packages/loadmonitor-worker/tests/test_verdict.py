"""HEALTHY, STALE and UNREACHABLE judge one attempt alone."""

from dataclasses import replace

import pytest

from loadmonitor_worker._verdict import FUTURE_TOLERANCE_MS, Attempt, ReportStatus, Verdict, judge
from loadmonitor_worker.testing import rank

NOW = 1_800_000_000_000


def verdict(*ages_ms: int) -> Verdict:
    ranks = [rank(dp_rank, at=NOW - age) for dp_rank, age in enumerate(ages_ms)]
    return judge(Attempt(ranks), now_unix_ms=NOW, stale_after_ms=3_000)


def test_recent_ranks_are_healthy_and_the_oldest_sets_the_age() -> None:
    assert verdict(5, 80, 20) == Verdict(ReportStatus.HEALTHY, None, 80)


def test_a_stale_rank_is_named_with_the_excess_of_the_oldest() -> None:
    assert verdict(10, 3_001, 4_103) == Verdict(ReportStatus.STALE, "ranks 1, 2 stale by 1103 ms", 4_103)


@pytest.mark.clause("REPORT-4", "REPORT-5")
@pytest.mark.parametrize(
    ("stamp", "why"),
    [
        (None, ""),
        (0, ""),
        (NOW + FUTURE_TOLERANCE_MS + 1, ": it lies in the future, so compare the clocks"),
    ],
)
def test_a_rank_without_a_usable_timestamp_makes_the_report_stale_and_leaves_the_age_to_the_others(
    stamp: int | None, why: str
) -> None:
    ranks = [rank(0, at=NOW - 7), rank(1, at=stamp)]
    judged = judge(Attempt(ranks), now_unix_ms=NOW, stale_after_ms=3_000)
    assert judged == Verdict(ReportStatus.STALE, f"rank 1 without a usable timestamp{why}", 7)
    alone = judge(Attempt(ranks[1:]), now_unix_ms=NOW, stale_after_ms=3_000)
    assert alone.max_snapshot_age_ms is None


def test_a_timestamp_slightly_ahead_of_this_clock_counts_as_now() -> None:
    assert verdict(-FUTURE_TOLERANCE_MS) == Verdict(ReportStatus.HEALTHY, None, 0)


@pytest.mark.clause("REPORT-4")
def test_a_rank_without_capacity_makes_the_report_stale() -> None:
    new = replace(rank(1, at=NOW, running=0), max_total_num_tokens=0)
    judged = judge(Attempt([rank(0, at=NOW), new]), now_unix_ms=NOW, stale_after_ms=3_000)
    assert judged == Verdict(ReportStatus.STALE, "rank 1 without a published capacity", 0)


def test_every_reason_is_told() -> None:
    ranks = [rank(0, at=NOW - 9_000), replace(rank(1, running=0), max_running_requests=0)]
    judged = judge(Attempt(ranks), now_unix_ms=NOW, stale_after_ms=3_000)
    assert judged.last_error == (
        "rank 0 stale by 6000 ms; rank 1 without a usable timestamp; rank 1 without a published capacity"
    )


@pytest.mark.clause("REPORT-3")
def test_a_failed_attempt_is_unreachable_whatever_went_before() -> None:
    assert judge(Attempt(error="gone"), now_unix_ms=NOW, stale_after_ms=1) == Verdict(
        ReportStatus.UNREACHABLE, "gone", None
    )
