"""One Worker at a given moment: the verdict, its reason and both ages, by a clock in the test's hands."""

from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import loadmonitor_proto as wire
from loadmonitor_router import (
    Connection,
    ConnectionState,
    Freshness,
    Grant,
    Receipt,
    ReportStatus,
    WorkerReport,
    WorkerState,
    WorkerTarget,
    assess,
    decode_report,
)
from loadmonitor_router._view import WorkersAt, WorkerView, view_connection, view_report
from loadmonitor_router.testing import wire_rank, wire_report

RECEIVED_NS = 5_000_000_000_000
TARGET = WorkerTarget(url="http://h:30000", reporter="h:50061")
REGISTERED = Connection(
    state=ConnectionState.REGISTERED,
    since_ns=0,
    retry_at_ns=None,
    last_error=None,
    grant=Grant(
        lease_ttl_ms=15_000,
        renew_after_ms=5_000,
        report_interval_ms=1_000,
        stale_after_ms=3_000,
        min_report_interval_ms=10,
        max_lease_ttl_ms=300_000,
        source_instance_id="a",
        max_unacked_reports=1,
    ),
    reconnects=0,
    received=1,
    dropped=MappingProxyType({}),
    last_drop=None,
    superseded=0,
)
BLANK = WorkerView(target=TARGET, connection=REGISTERED, freshness_ms=3_000)


def ms(milliseconds: float) -> int:
    return RECEIVED_NS + int(milliseconds * 1_000_000)


def received(own_age_ms: int | None = 20, delay_ms: float | None = 5.0, **changes: Any) -> WorkerView:
    message = wire_report(1, max_snapshot_age_ms=own_age_ms)
    report = decode_report(message, Receipt(monotonic_ns=RECEIVED_NS, delay_ms=delay_ms))
    return viewed(replace(report, **changes))


def viewed(report: WorkerReport) -> WorkerView:
    return view_report(BLANK, REGISTERED, report, {rank.dp_rank: None for rank in report.ranks})


def test_a_recent_report_is_fresh_and_says_how_old_it_is() -> None:
    load = received().at(ms(100))
    assert (load.freshness, load.reason, load.age_ms, load.receipt_age_ms) == (Freshness.FRESH, None, 125.0, 100.0)


def test_at_the_end_of_the_window_it_is_fresh_and_a_nanosecond_later_stale_with_its_numbers() -> None:
    view = received()
    last = view.at(ms(2_975))
    assert (last.freshness, last.age_ms) == (Freshness.FRESH, 3_000)
    load = view.at(ms(2_975) + 1)
    assert load.freshness is Freshness.STALE
    assert load.reason == "3000 ms old, fresh is up to 3000 ms"
    assert load.report is last.report is not None
    assert load.aggregate is last.aggregate is not None
    assert load.receipt_age_ms == pytest.approx(2_975)
    assert load.age_ms == pytest.approx(3_000)


def test_a_report_that_was_received_old_is_never_fresh() -> None:
    view = received(delay_ms=10_000)
    assert view.fresh_until_ns is None
    load = view.at(ms(0))
    assert (load.freshness, load.age_ms, load.receipt_age_ms) == (Freshness.STALE, 10_020, 0)


def test_a_report_of_unknown_age_is_stale_and_its_age_stays_unknown() -> None:
    load = received(delay_ms=None).at(ms(1))
    assert (load.freshness, load.age_ms) == (Freshness.STALE, None)
    assert load.reason == "age unknown: the delivery delay is unknown"
    assert load.report is not None


@pytest.mark.clause("STATE-3")
@pytest.mark.parametrize("state", [None, *WorkerState])
def test_of_a_worker_that_is_lost_only_draining_is_remembered_until_it_reports_again(state: WorkerState | None) -> None:
    lost = replace(REGISTERED, state=ConnectionState.BACKING_OFF, last_error="SHUTTING_DOWN: bye")
    gone = view_connection(received(worker_state=state), lost)
    dialling = view_connection(gone, replace(lost, state=ConnectionState.CONNECTING))
    back = view_connection(dialling, REGISTERED)
    remembered = WorkerState.DRAINING if state is WorkerState.DRAINING else None
    assert [view.at(ms(1)).worker_state for view in (gone, dialling, back)] == [remembered] * 3
    assert [view.at(ms(1)).report for view in (gone, dialling, back)] == [None] * 3
    silent = received().report
    assert silent is not None
    restarted = view_report(back, REGISTERED, silent, {0: None})
    assert restarted.at(ms(1)).worker_state is None
    assert view_connection(restarted, lost).at(ms(1)).worker_state is None


@pytest.mark.clause("STATE-3")
@pytest.mark.parametrize("state", [None, *WorkerState])
def test_a_fresh_load_says_whether_its_engine_takes_requests(state: WorkerState | None) -> None:
    load = received(worker_state=state).at(ms(1))
    assert load.freshness is Freshness.FRESH
    assert load.takes_requests is (state in {None, WorkerState.SERVING})


def test_the_workers_own_doubt_is_believed() -> None:
    load = received(status=ReportStatus.STALE, last_error="rank 0: no timestamp").at(ms(1))
    assert (load.freshness, load.reason) == (Freshness.STALE, "rank 0: no timestamp")


def test_an_engine_that_can_not_be_read_has_no_numbers() -> None:
    message = wire_report(
        1, ranks=[], status=wire.ReportStatus.REPORT_STATUS_UNREACHABLE, last_error="time-out", max_snapshot_age_ms=None
    )
    load = viewed(decode_report(message, Receipt(monotonic_ns=RECEIVED_NS, delay_ms=1))).at(ms(7))
    assert (load.freshness, load.reason) == (Freshness.UNREACHABLE, "time-out")
    assert (load.age_ms, load.receipt_age_ms, load.aggregate) == (None, 7, None)
    assert load.queue_pressure_seconds == {}


@pytest.mark.parametrize(
    ("connection", "reason"),
    [
        (REGISTERED, "registered, no report yet"),
        (replace(REGISTERED, last_drop="report 1: bad"), "registered, no report yet; dropped: report 1: bad"),
        (replace(REGISTERED, state=ConnectionState.CONNECTING, grant=None), "connecting, no report yet"),
        (replace(REGISTERED, state=ConnectionState.BACKING_OFF, grant=None, last_error="refused"), "refused"),
        (replace(REGISTERED, state=ConnectionState.FAILED, grant=None, last_error="denied"), "denied"),
    ],
)
def test_a_missing_report_is_explained_by_the_connection(connection: Connection, reason: str) -> None:
    load = view_connection(BLANK, connection).at(ms(0))
    assert (load.freshness, load.reason, load.age_ms, load.receipt_age_ms) == (Freshness.MISSING, reason, None, None)


def test_a_lost_connection_takes_the_report_with_it() -> None:
    lost = replace(REGISTERED, state=ConnectionState.BACKING_OFF, grant=None, last_error="reset")
    load = view_connection(received(), lost).at(ms(1))
    assert (load.freshness, load.report, load.aggregate, load.reason) == (Freshness.MISSING, None, None, "reset")


def test_a_dropped_report_leaves_the_one_before_in_place() -> None:
    dropped = replace(REGISTERED, received=2, last_drop="report 2: bad")
    before = received()
    load = view_connection(before, dropped).at(ms(1))
    assert (load.freshness, load.report) == (Freshness.FRESH, before.report)
    assert load.connection.last_drop == "report 2: bad"


def test_a_window_too_narrow_for_the_granted_interval_is_named_beside_the_reason() -> None:
    assert REGISTERED.grant is not None
    clamped = replace(REGISTERED, grant=replace(REGISTERED.grant, report_interval_ms=1_501))
    view = view_connection(received(), clamped)
    assert view.at(ms(10)).reason is None
    reason = view.at(ms(4_000)).reason
    assert reason is not None
    assert reason.startswith("4025 ms old, fresh is up to 3000 ms; the Worker grants a report every 1501 ms")
    assert "3002" in reason


def test_a_window_of_twice_the_granted_interval_is_wide_enough() -> None:
    assert REGISTERED.grant is not None
    granted = replace(REGISTERED, grant=replace(REGISTERED.grant, report_interval_ms=1_500))
    assert view_connection(received(), granted).at(ms(4_000)).reason == "4025 ms old, fresh is up to 3000 ms"


def test_pressure_is_per_rank_and_unknown_where_the_rate_is() -> None:
    message = wire_report(1, ranks=[wire_rank(0), wire_rank(1), wire_rank(2, num_waiting_uncached_tokens=0)])
    report = decode_report(message, Receipt(monotonic_ns=RECEIVED_NS, delay_ms=0))
    load = view_report(BLANK, REGISTERED, report, {0: 2_048.0, 1: None, 2: None}).at(ms(0))
    assert load.queue_pressure_seconds == {0: 2.0, 1: None, 2: 0.0}
    assert load.aggregate is not None
    assert load.aggregate.queue_pressure_seconds is None


@given(
    own_age_ms=st.none() | st.integers(0, 5_000),
    delay_ms=st.none() | st.floats(0, 5_000),
    after_ns=st.integers(0, 6_000_000_000),
)
def test_the_verdict_is_that_of_assess_at_every_moment(
    own_age_ms: int | None, delay_ms: float | None, after_ns: int
) -> None:
    view = received(own_age_ms, delay_ms)
    now_ns = RECEIVED_NS + after_ns
    load = view.at(now_ns)
    verdict = assess(view.report, now_ns, 3_000)
    assert (load.freshness, load.reason) == (verdict.freshness, verdict.reason)
    assert load.age_ms == (None if verdict.age_ms is None else pytest.approx(verdict.age_ms))


def test_the_workers_of_a_snapshot_read_like_a_dict_and_stay_the_same_objects() -> None:
    workers = WorkersAt({"a": received(), "b": BLANK}, ms(1))
    assert list(workers) == ["a", "b"]
    assert len(workers) == 2
    assert workers["a"] is workers["a"]
    assert workers == dict(workers.items())
    assert "c" not in workers
    assert repr(workers) == repr(dict(workers))
    with pytest.raises(KeyError):
        workers["c"]
