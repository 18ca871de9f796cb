"""What an ORCA report says of a reading of the engine."""

from contextlib import suppress
from dataclasses import replace

import pytest
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st

from loadmonitor_worker import RankSnapshot, WorkerState
from loadmonitor_worker._orca import (
    AVOIDED_UTILIZATION,
    LEAST_UTILIZATION,
    REQUESTS_PER_SECOND,
    _Report,
    _Request,
    granted_interval_ns,
    orca_report,
)
from loadmonitor_worker._verdict import Attempt, ReportStatus, Verdict

HEALTHY = Verdict(ReportStatus.HEALTHY, None, 40)
STALE = Verdict(ReportStatus.STALE, "rank 0 stale by 10 ms", 3_010)
UNREACHABLE = Verdict(ReportStatus.UNREACHABLE, "gone", None)
LOADED = RankSnapshot(
    dp_rank=0,
    snapshot_time_unix_ms=1,
    num_running_reqs=50,
    num_waiting_reqs=10,
    num_waiting_uncached_tokens=7_000,
    max_total_num_tokens=1_000,
    max_running_requests=100,
    token_usage=0.4,
)


def told(
    *ranks: RankSnapshot, verdict: Verdict = HEALTHY, state: WorkerState | None = None
) -> dict[str, float | dict[str, float]]:
    """Return what the report holds, by its fields' names; a field that isn't sent isn't there."""
    report = _Report.FromString(orca_report(Attempt(ranks), verdict, sequence_id=9, worker_state=state))
    return {
        field.name: dict(value) if field.message_type else value  # both messages are maps
        for field, value in report.ListFields()
    }


def test_every_field_has_its_number_on_the_wire() -> None:
    report = orca_report(Attempt([LOADED]), HEALTHY, sequence_id=9, worker_state=None)
    assert [(field.name, field.number) for field, _ in _Report.FromString(report).ListFields()] == [
        ("mem_utilization", 2),
        ("utilization", 5),
        ("rps_fractional", 6),
        ("named_metrics", 8),
        ("application_utilization", 9),
    ]


def test_a_healthy_engine_tells_its_load() -> None:
    assert told(LOADED, state=WorkerState.SERVING) == {
        "mem_utilization": 0.4,
        "utilization": {"request_slots": 0.5, "kv_cache": 0.4, "rank.0.kv_cache": 0.4},
        "rps_fractional": REQUESTS_PER_SECOND,
        "application_utilization": 0.6,
        "named_metrics": {
            "status": 1,
            "sequence_id": 9,
            "snapshot_age_ms": 40,
            "worker_state": 2,
            "num_running_reqs": 50,
            "num_waiting_reqs": 10,
            "num_waiting_uncached_tokens": 7_000,
            "rank.0.num_running_reqs": 50,
            "rank.0.num_waiting_reqs": 10,
        },
    }


def test_the_fullest_rank_counts_by_whatever_it_is_fullest_of() -> None:
    full_of_tokens = replace(LOADED, dp_rank=1, num_running_reqs=1, num_waiting_reqs=0, token_usage=0.8)
    shown = told(LOADED, full_of_tokens)
    assert (shown["application_utilization"], shown["mem_utilization"]) == (0.8, 0.8)
    assert shown["utilization"] == {
        "request_slots": 0.5,
        "kv_cache": 0.8,
        "rank.0.kv_cache": 0.4,
        "rank.1.kv_cache": 0.8,
    }
    metrics = shown["named_metrics"]
    assert isinstance(metrics, dict)
    assert (metrics["num_running_reqs"], metrics["rank.1.num_running_reqs"]) == (51, 1)


def test_a_queue_makes_an_engine_more_than_full() -> None:
    assert told(replace(LOADED, num_waiting_reqs=250))["application_utilization"] == 3.0


def test_an_idle_engine_is_told_as_nearly_idle_because_nothing_would_mean_unknown() -> None:
    shown = told(replace(LOADED, num_running_reqs=0, num_waiting_reqs=0, token_usage=0.0))
    assert (shown["application_utilization"], shown["rps_fractional"]) == (LEAST_UTILIZATION, REQUESTS_PER_SECOND)
    assert shown["utilization"] == {"request_slots": 0, "kv_cache": 0, "rank.0.kv_cache": 0}


def test_what_the_engine_does_not_tell_is_left_out() -> None:
    shown = told(LOADED, replace(LOADED, dp_rank=1, token_usage=None, num_waiting_uncached_tokens=None))
    assert shown["utilization"] == {"request_slots": 0.5, "kv_cache": 0.4, "rank.0.kv_cache": 0.4}
    assert "num_waiting_uncached_tokens" not in str(shown)
    shown = told(replace(LOADED, token_usage=None))
    assert "mem_utilization" not in shown
    assert (shown["utilization"], shown["application_utilization"]) == ({"request_slots": 0.5}, 0.6)


def test_an_engines_ratio_above_one_is_capped_where_orca_allows_no_more() -> None:
    shown = told(replace(LOADED, token_usage=1.25))
    assert (shown["mem_utilization"], shown["application_utilization"]) == (1.0, 1.25)
    assert shown["utilization"] == {"request_slots": 0.5, "kv_cache": 1.0, "rank.0.kv_cache": 1.0}


@pytest.mark.parametrize(("verdict", "metrics"), [
    (STALE, {"status": 2, "sequence_id": 9, "snapshot_age_ms": 3_010}),
    (UNREACHABLE, {"status": 3, "sequence_id": 9}),
])  # fmt: skip
def test_without_fresh_numbers_a_report_has_none_at_all(verdict: Verdict, metrics: dict[str, float]) -> None:
    ranks = [LOADED] if verdict is STALE else []
    assert told(*ranks, verdict=verdict) == {"named_metrics": metrics}


@pytest.mark.parametrize("verdict", [HEALTHY, STALE, UNREACHABLE])
@pytest.mark.parametrize("state", [state for state in WorkerState if state is not WorkerState.SERVING])
def test_an_engine_to_be_left_alone_looks_overfull_however_empty_it_is(verdict: Verdict, state: WorkerState) -> None:
    ranks = [] if verdict is UNREACHABLE else [replace(LOADED, num_running_reqs=0, num_waiting_reqs=0)]
    shown = told(*ranks, verdict=verdict, state=state)
    assert (shown["application_utilization"], shown["rps_fractional"]) == (AVOIDED_UTILIZATION, REQUESTS_PER_SECOND)


def request(seconds: int, nanos: int = 0) -> bytes:
    encoded: bytes = _Request(report_interval={"seconds": seconds, "nanos": nanos}).SerializeToString()
    return encoded


@pytest.mark.parametrize(("asked", "granted_ms"), [
    pytest.param(b"", 1_000, id="no interval"),
    pytest.param(request(0), 1_000, id="zero"),
    pytest.param(request(-5), 1_000, id="negative"),
    pytest.param(request(0, -5), 1_000, id="negative nanos"),
    pytest.param(request(0, 999_999_999), 1_000, id="a little too short"),
    pytest.param(request(1, 500_000_000), 1_500, id="long enough"),
    pytest.param(request(315_576_000_000), 315_576_000_000_000, id="the longest that a Duration may be"),
    pytest.param(b"\x12\x04cost" + request(2), 2_000, id="with names of request costs"),
])  # fmt: skip
def test_an_interval_is_granted_unless_it_is_below_the_least(asked: bytes, granted_ms: int) -> None:
    assert granted_interval_ns(asked, least_ms=1_000) == granted_ms * 1_000_000


@given(st.binary(max_size=64))
def test_any_request_is_granted_an_interval_or_cannot_be_decoded(request: bytes) -> None:
    with suppress(DecodeError):
        assert granted_interval_ns(request, least_ms=10) >= 10_000_000


COUNTS = st.integers(0, 2**63 - 1)
RATIOS = st.none() | st.floats(0, 1e300)


@given(st.lists(st.tuples(COUNTS, COUNTS, st.integers(1, 2**63 - 1), RATIOS), min_size=1, max_size=5))
def test_whatever_a_healthy_engine_tells_the_report_keeps_to_orcas_ranges(
    loads: list[tuple[int, int, int, float | None]],
) -> None:
    ranks = [
        RankSnapshot(
            dp_rank=number,
            snapshot_time_unix_ms=1,
            num_running_reqs=min(running, most),
            num_waiting_reqs=waiting,
            max_running_requests=most,
            max_total_num_tokens=1,
            token_usage=usage,
        )
        for number, (running, waiting, most, usage) in enumerate(loads)
    ]
    report = _Report.FromString(orca_report(Attempt(ranks), HEALTHY, sequence_id=1, worker_state=None))
    assert report.application_utilization >= LEAST_UTILIZATION
    assert 0 <= report.mem_utilization <= 1
    assert all(0 <= value <= 1 for value in report.utilization.values())
    assert all(value >= 0 for value in report.named_metrics.values())
