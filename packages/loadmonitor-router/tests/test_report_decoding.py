"""Which reports are used, which are dropped, and what unknown looks like."""

import math
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import loadmonitor_proto as wire
from loadmonitor_router import (
    DropReason,
    InvalidReportError,
    Receipt,
    ReportStatus,
    WorkerReport,
    WorkerState,
    WorkerType,
    decode_report,
)
from loadmonitor_router.testing import wire_rank, wire_report

RECEIPT = Receipt(monotonic_ns=5, delay_ms=1.0)
STALE = wire.ReportStatus.REPORT_STATUS_STALE
UNREACHABLE = wire.ReportStatus.REPORT_STATUS_UNREACHABLE
UNSPECIFIED = wire.ReportStatus.REPORT_STATUS_UNSPECIFIED


def decode(report: wire.LoadReport) -> WorkerReport:
    return decode_report(report, RECEIPT)


def test_a_complete_report_keeps_every_value() -> None:
    rank = wire_rank(
        3,
        prefill_throughput=900.5,
        prefill_uncached_tokens_total=7,
        prefill_busy_us_total=8,
        generated_tokens_total=9,
    )
    report = wire_report(4, ranks=[rank], status=STALE, last_error="rank 3 stale by 9 ms")
    report.worker.model, report.worker.zone = "m", "z"
    report.worker_state = wire.WorkerState.WORKER_STATE_DRAINING
    report.active_routers = 2
    decoded = decode(report)
    assert (decoded.source_instance_id, decoded.sequence_id, decoded.status) == ("a", 4, ReportStatus.STALE)
    assert (decoded.last_error, decoded.max_snapshot_age_ms) == ("rank 3 stale by 9 ms", 20)
    assert (decoded.worker.worker_addr, decoded.worker.worker_type) == ("http://127.0.0.1:30000", WorkerType.REGULAR)
    assert (decoded.worker.model, decoded.worker.zone) == ("m", "z")
    assert (decoded.worker_state, decoded.active_routers) == (WorkerState.DRAINING, 2)
    assert decoded.receipt is RECEIPT
    (load,) = decoded.ranks
    for name in {field.name for field in wire.RankLoad.DESCRIPTOR.fields} - {"unknown_field_numbers"}:
        assert getattr(load, name) == getattr(rank, name), name


def test_what_the_wire_can_only_write_as_zero_or_minus_one_is_unknown() -> None:
    rank = wire_rank(snapshot_time_unix_ms=0, max_total_num_tokens=0, max_running_requests=0, utilization=-1)
    report = wire_report(1, ranks=[rank], report_time_unix_ms=0, max_snapshot_age_ms=None)
    report.ClearField("worker")
    decoded = decode(report)
    (load,) = decoded.ranks
    assert (load.snapshot_time_unix_ms, load.max_total_num_tokens, load.max_running_requests) == (None, None, None)
    assert (load.utilization, load.prefill_throughput, load.generated_tokens_total) == (None, None, None)
    assert (load.prefill_uncached_tokens_total, load.prefill_busy_us_total) == (None, None)
    assert (decoded.report_time_unix_ms, decoded.max_snapshot_age_ms) == (None, None)
    assert (decoded.worker_state, decoded.active_routers, decoded.last_error) == (None, None, None)
    assert (decoded.worker.worker_addr, decoded.worker.worker_type) == (None, None)
    assert (decoded.worker.model, decoded.worker.zone) == (None, None)


@pytest.mark.clause("REPORT-8")
@pytest.mark.parametrize("name", wire.UNKNOWABLE_FIELDS.values())
def test_a_field_that_is_named_as_unknown_is_unknown_and_no_other_is(name: str) -> None:
    known = decode(wire_report(1, ranks=[wire_rank(0)])).ranks[0]
    (load,) = decode(wire_report(1, ranks=[wire_rank(0, **{name: None})])).ranks
    assert getattr(load, name) is None
    assert load == replace(known, **{name: None})  # type: ignore[arg-type] # the names stand in the contract


@pytest.mark.clause("REPORT-8")
def test_a_number_that_names_a_field_yet_to_be_invented_is_passed_over() -> None:
    rank = wire_rank(0, token_usage=None)
    rank.unknown_field_numbers.append(4_000)
    (load,) = decode(wire_report(1, ranks=[rank])).ranks
    assert load.token_usage is None
    assert load.num_used_tokens == 50_000


@pytest.mark.clause("REPORT-8")
def test_a_worker_of_the_first_version_names_nothing_and_its_zeros_are_read_as_before() -> None:
    rank = wire_rank(0, **dict.fromkeys(wire.UNKNOWABLE_FIELDS.values(), 0))
    (load,) = decode(wire_report(1, ranks=[rank])).ranks
    assert [getattr(load, name) for name in wire.UNKNOWABLE_FIELDS.values()] == [0] * 6


def test_a_measured_zero_stays_zero() -> None:
    rank = wire.RankLoad(dp_rank=0, max_total_num_tokens=1, max_running_requests=1, prefill_throughput=0.0)
    rank.prefill_uncached_tokens_total = rank.prefill_busy_us_total = rank.generated_tokens_total = 0
    report = wire_report(1, ranks=[rank], max_snapshot_age_ms=0)
    report.active_routers = 0
    decoded = decode(report)
    (load,) = decoded.ranks
    assert (load.num_waiting_reqs, load.token_usage, load.utilization, load.prefill_throughput) == (0, 0, 0, 0)
    assert (load.prefill_uncached_tokens_total, load.prefill_busy_us_total, load.generated_tokens_total) == (0, 0, 0)
    assert (decoded.max_snapshot_age_ms, decoded.active_routers) == (0, 0)


def test_running_nothing_beside_a_long_queue_is_accepted() -> None:
    (load,) = decode(wire_report(1, ranks=[wire_rank(num_running_reqs=0, num_waiting_reqs=2_826)])).ranks
    assert (load.num_running_reqs, load.num_waiting_reqs) == (0, 2_826)


def test_token_usage_is_not_recomputed_from_the_tokens() -> None:
    rank = wire_rank(num_used_tokens=100, max_total_num_tokens=1_000, token_usage=0.9)
    (load,) = decode(wire_report(1, ranks=[rank])).ranks
    assert (load.num_used_tokens, load.max_total_num_tokens, load.token_usage) == (100, 1_000, 0.9)


def test_use_without_a_known_capacity_does_not_exceed_it() -> None:
    decode(wire_report(1, ranks=[wire_rank(max_total_num_tokens=0, max_running_requests=0)]))


def test_ranks_come_sorted() -> None:
    report = wire_report(1, ranks=[wire_rank(number) for number in (2, 0, 1)])
    assert [load.dp_rank for load in decode(report).ranks] == [0, 1, 2]


def test_numbers_that_a_newer_worker_may_send_are_unknown() -> None:
    report = wire_report(1)
    report.worker.worker_type = 99  # type: ignore[assignment]
    report.worker_state = 99  # type: ignore[assignment]
    decoded = decode(report)
    assert (decoded.worker.worker_type, decoded.worker_state) == (None, None)


def one_rank(**fields: float) -> Callable[[], wire.LoadReport]:
    return lambda: wire_report(1, ranks=[wire_rank(0), wire_rank(5, **fields)])


def naming(number: int) -> Callable[[], wire.LoadReport]:
    """Name a field as unknown by its number, whatever its value."""

    def make() -> wire.LoadReport:
        rank = wire_rank(5)
        rank.unknown_field_numbers.append(number)
        return wire_report(1, ranks=[rank])

    return make


INVALID: dict[str, tuple[Callable[[], wire.LoadReport], DropReason, str, int | None]] = {
    "no source instance": (
        lambda: wire_report(1, source_instance_id=" "), DropReason.NO_SOURCE_INSTANCE, "source_instance_id", None,
    ),
    "status unspecified": (lambda: wire_report(1, status=UNSPECIFIED), DropReason.NO_STATUS, "status", None),
    "status unknown": (lambda: wire_report(1, status=9), DropReason.NO_STATUS, "status", None),  # type: ignore[arg-type]
    "report time": (
        lambda: wire_report(1, report_time_unix_ms=-1), DropReason.NEGATIVE, "report_time_unix_ms", None,
    ),
    "snapshot age": (
        lambda: wire_report(1, max_snapshot_age_ms=-1), DropReason.NEGATIVE, "max_snapshot_age_ms", None,
    ),
    "unreachable with ranks": (
        lambda: wire_report(1, status=UNREACHABLE, last_error="e"), DropReason.UNREACHABLE_WITH_RANKS, "ranks", None,
    ),
    "unreachable without an error": (
        lambda: wire_report(1, status=UNREACHABLE, ranks=[]), DropReason.UNREACHABLE_WITHOUT_ERROR, "last_error", None,
    ),
    "unreachable with a blank error": (
        lambda: wire_report(1, status=UNREACHABLE, ranks=[], last_error=" "),
        DropReason.UNREACHABLE_WITHOUT_ERROR, "last_error", None,
    ),
    "healthy without ranks": (lambda: wire_report(1, ranks=[]), DropReason.NO_RANKS, "ranks", None),
    "stale without ranks": (
        lambda: wire_report(1, ranks=[], status=STALE, last_error="e"), DropReason.NO_RANKS, "ranks", None,
    ),
    "negative rank": (lambda: wire_report(1, ranks=[wire_rank(-1)]), DropReason.NEGATIVE, "dp_rank", -1),
    "duplicate rank": (
        lambda: wire_report(1, ranks=[wire_rank(5), wire_rank(5)]), DropReason.DUPLICATE_RANK, "dp_rank", 5,
    ),
    "used over capacity": (
        one_rank(num_used_tokens=100_001), DropReason.OVER_CAPACITY, "num_used_tokens", 5,
    ),
    "running over capacity": (
        one_rank(num_running_reqs=257), DropReason.OVER_CAPACITY, "num_running_reqs", 5,
    ),
    "utilization of -0.5": (one_rank(utilization=-0.5), DropReason.NEGATIVE, "utilization", 5),
    "told and unknown": (naming(6), DropReason.NOT_UNKNOWABLE, "num_used_tokens", 5),
    "requests unknown": (naming(4), DropReason.NOT_UNKNOWABLE, "num_waiting_reqs", 5),
    "an optional field unknown": (naming(14), DropReason.NOT_UNKNOWABLE, "prefill_throughput", 5),
}  # fmt: skip


@pytest.mark.clause("REPORT-8")
@pytest.mark.parametrize("case", INVALID)
def test_a_report_that_breaks_a_rule_is_refused_by_name(case: str) -> None:
    make, reason, field, dp_rank = INVALID[case]
    with pytest.raises(InvalidReportError) as raised:
        decode(make())
    assert (raised.value.reason, raised.value.field, raised.value.dp_rank) == (reason, field, dp_rank)
    if dp_rank is not None:
        assert str(dp_rank) in str(raised.value)


@pytest.mark.parametrize(
    "field",
    [
        "snapshot_time_unix_ms", "num_running_reqs", "num_waiting_reqs", "num_waiting_uncached_tokens",
        "num_used_tokens", "num_total_tokens", "max_total_num_tokens", "max_running_requests",
        "prefill_uncached_tokens_total", "prefill_busy_us_total", "generated_tokens_total",
        "token_usage", "gen_throughput", "cache_hit_rate", "prefill_throughput",
    ],
)  # fmt: skip
def test_a_negative_number_is_refused_and_never_taken_for_idle(field: str) -> None:
    with pytest.raises(InvalidReportError, match=f"rank 5: {field}=-2") as raised:
        decode(one_rank(**{field: -2})())
    assert (raised.value.reason, raised.value.field) == (DropReason.NEGATIVE, field)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(
    "field", ["token_usage", "gen_throughput", "cache_hit_rate", "utilization", "prefill_throughput"]
)
def test_a_number_that_is_none_is_refused(field: str, value: float) -> None:
    with pytest.raises(InvalidReportError, match=f"rank 5: {field}=") as raised:
        decode(one_rank(**{field: value})())
    assert (raised.value.reason, raised.value.field) == (DropReason.NOT_FINITE, field)


@given(st.binary(max_size=200))
def test_any_message_is_decoded_or_refused_with_the_typed_error(data: bytes) -> None:
    report = wire.LoadReport()
    try:
        report.ParseFromString(data)
    except Exception:  # noqa: BLE001 - protobuf's own error; only messages that parse matter
        return
    try:
        decoded = decode(report)
    except InvalidReportError:
        return
    assert decoded.status is ReportStatus.UNREACHABLE or decoded.ranks


counts = st.integers(-3, 2**63 - 1) | st.integers(-3, 3)
rates = st.floats() | st.sampled_from([-1.0, 0.0, 0.5])


@st.composite
def wire_reports(draw: st.DrawFn) -> wire.LoadReport:
    ranks = [
        wire.RankLoad(
            dp_rank=draw(st.integers(-1, 4)),
            snapshot_time_unix_ms=draw(counts),
            num_running_reqs=draw(counts),
            num_used_tokens=draw(counts),
            max_total_num_tokens=draw(counts),
            max_running_requests=draw(counts),
            token_usage=draw(rates),
            utilization=draw(rates),
            unknown_field_numbers=draw(st.lists(st.sampled_from([3, 5, 6, 7, 10, 103, 200]), max_size=3)),
        )
        for _ in range(draw(st.integers(0, 3)))
    ]
    return wire.LoadReport(
        source_instance_id=draw(st.sampled_from(["", " ", "a"])),
        status=draw(st.sampled_from(wire.ReportStatus.values())),
        last_error=draw(st.none() | st.sampled_from(["", "e"])),
        max_snapshot_age_ms=draw(st.none() | counts),
        ranks=ranks,
    )


@given(wire_reports())
def test_a_report_that_is_accepted_keeps_every_promise(report: wire.LoadReport) -> None:
    try:
        decoded = decode(report)
    except InvalidReportError:
        return
    numbers = [load.dp_rank for load in decoded.ranks]
    assert numbers == sorted(set(numbers))
    assert (decoded.status is ReportStatus.UNREACHABLE) == (not numbers)
    assert decoded.status is not ReportStatus.UNREACHABLE or decoded.last_error
    for load in decoded.ranks:
        assert load.dp_rank >= 0
        used = load.num_used_tokens
        assert load.max_total_num_tokens is None or used is None or 0 <= used <= load.max_total_num_tokens
        assert load.max_running_requests is None or 0 <= load.num_running_reqs <= load.max_running_requests
        assert load.max_total_num_tokens != 0
        assert load.snapshot_time_unix_ms is None or load.snapshot_time_unix_ms > 0
        assert load.token_usage is None or 0 <= load.token_usage < math.inf
        assert load.utilization is None or 0 <= load.utilization < math.inf
