"""How old numbers are, and when they may be acted upon."""

from typing import Any

import pytest

import loadmonitor_proto as wire
from loadmonitor_router import (
    Freshness,
    Receipt,
    WorkerReport,
    age_ms,
    assess,
    decode_report,
    own_age_ms,
    rank_age_ms,
)
from loadmonitor_router.testing import wire_rank, wire_report

MS = 1_000_000
BUILT = 1_750_000_000_000
STALE = wire.ReportStatus.REPORT_STATUS_STALE
UNREACHABLE = wire.ReportStatus.REPORT_STATUS_UNREACHABLE


def report(*snapshot_times: int, delay_ms: float | None = 0.0, capacity: int = 100_000, **fields: Any) -> WorkerReport:
    ranks = [
        wire_rank(number, snapshot_time_unix_ms=time, max_total_num_tokens=capacity)
        for number, time in enumerate(snapshot_times)
    ]
    settings: dict[str, Any] = {"ranks": ranks, "report_time_unix_ms": BUILT, "max_snapshot_age_ms": None} | fields
    return decode_report(wire_report(1, **settings), Receipt(monotonic_ns=10 * MS, delay_ms=delay_ms))


def test_the_workers_own_reckoning_comes_first() -> None:
    assert own_age_ms(report(BUILT - 50, max_snapshot_age_ms=7)) == 7


def test_without_it_the_oldest_rank_counts() -> None:
    assert own_age_ms(report(BUILT - 50, BUILT - 900, BUILT - 3)) == 900


@pytest.mark.parametrize(
    "unknown",
    [
        report(BUILT - 50, 0),
        report(BUILT - 50, report_time_unix_ms=0),
        report(BUILT + 2),
        report(status=UNREACHABLE, last_error="no engine"),
    ],
    ids=["a-rank-without-time", "no-report-time", "snapshot-after-report", "no-ranks"],
)
def test_an_age_that_can_not_be_known_is_unknown(unknown: WorkerReport) -> None:
    assert own_age_ms(unknown) is None
    assert age_ms(unknown, 10 * MS) is None


def test_times_of_one_clock_may_differ_by_their_rounding() -> None:
    assert own_age_ms(report(BUILT + 1)) == 0


def test_age_adds_own_age_delay_and_time_since_receipt() -> None:
    assert age_ms(report(BUILT - 100, delay_ms=20), (10 + 3) * MS) == 123


def test_an_unknown_delay_makes_the_age_unknown_however_young_the_report_looks() -> None:
    assert age_ms(report(BUILT, delay_ms=None), 10 * MS) is None


def test_a_younger_rank_is_younger_than_the_report() -> None:
    both = report(BUILT - 100, BUILT - 40, max_snapshot_age_ms=100)
    assert [rank_age_ms(both, rank, 10 * MS) for rank in both.ranks] == [100, 40]


def test_a_rank_is_never_younger_than_its_way_here() -> None:
    both = report(BUILT - 100, BUILT, max_snapshot_age_ms=30, delay_ms=7)
    assert [rank_age_ms(both, rank, 12 * MS) for rank in both.ranks] == [39, 9]


def test_a_rank_without_a_time_has_no_age_of_its_own() -> None:
    mixed = report(BUILT - 100, 0, max_snapshot_age_ms=100)
    assert [rank_age_ms(mixed, rank, 10 * MS) for rank in mixed.ranks] == [100, None]


def test_a_report_is_fresh_up_to_the_window_and_then_no_more() -> None:
    healthy = report(BUILT - 100)
    assert assess(healthy, 10 * MS).freshness is Freshness.FRESH
    at_the_edge = assess(healthy, (10 + 2_900) * MS)
    assert (at_the_edge.freshness, at_the_edge.age_ms, at_the_edge.reason) == (Freshness.FRESH, 3_000, None)
    over = assess(healthy, (10 + 2_901) * MS)
    assert (over.freshness, over.reason) == (Freshness.STALE, "3001 ms old, fresh is up to 3000 ms")


@pytest.mark.parametrize(
    ("judged", "freshness", "reason"),
    [
        (None, Freshness.MISSING, "no report yet"),
        (report(status=UNREACHABLE, last_error="no engine"), Freshness.UNREACHABLE, "no engine"),
        (report(BUILT - 9, status=STALE, last_error="rank 0 stale by 9 ms"), Freshness.STALE, "rank 0 stale by 9 ms"),
        (report(BUILT - 9, status=STALE), Freshness.STALE, "the Worker says STALE and not why"),
        (report(BUILT - 9, BUILT - 9, capacity=0), Freshness.STALE, "no capacity published by rank 0, 1"),
        (report(BUILT - 9, delay_ms=None), Freshness.STALE, "age unknown: the delivery delay is unknown"),
        (report(0), Freshness.STALE, "age unknown: the time of a rank's snapshot is unknown"),
    ],
)
def test_whatever_is_not_fresh_says_why(judged: WorkerReport | None, freshness: Freshness, reason: str) -> None:
    assessment = assess(judged, 10 * MS)
    assert (assessment.freshness, assessment.reason) == (freshness, reason)


def test_an_engine_that_can_not_be_read_has_no_age() -> None:
    assert assess(report(status=UNREACHABLE, last_error="e", max_snapshot_age_ms=4), 10 * MS).age_ms is None
