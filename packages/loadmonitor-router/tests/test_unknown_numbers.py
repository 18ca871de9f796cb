"""What a Worker names as unknown stays unknown wherever it is shown, added up or picked by."""

import json
from collections.abc import Iterable

import pytest
from fleet_samples import NOW_NS, REGISTERED, fleet, worker_load
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import generate_latest

import loadmonitor_proto as wire
from loadmonitor_router import (
    MonitorStats,
    Receipt,
    WorkerReport,
    aggregate_ranks,
    decode_report,
    queue_pressure_seconds,
)
from loadmonitor_router._view import WorkerView, view_report
from loadmonitor_router.cli._json import json_line
from loadmonitor_router.cli._output import PlainOutput
from loadmonitor_router.cli._view import rows, view
from loadmonitor_router.explanation import _SELDOM_UNKNOWN, explain
from loadmonitor_router.export import EngineMetrics, FleetCollector, make_registry
from loadmonitor_router.picking import LeastLoaded, WeightedRandom, rank_load
from loadmonitor_router.picking.testing import make_rank, make_snapshot, make_worker
from loadmonitor_router.snapshot import WorkerTarget
from loadmonitor_router.testing import ManualClock, wire_rank, wire_report

A, B = "http://10.0.0.1:30000", "http://10.0.0.2:30000"
UNKNOWN: dict[str, None] = dict.fromkeys(wire.UNKNOWABLE_FIELDS.values())


def report(*ranks: wire.RankLoad) -> WorkerReport:
    return decode_report(wire_report(1, ranks=ranks), Receipt(monotonic_ns=0, delay_ms=0))


def vllm_rank(dp_rank: int = 0, **fields: float) -> wire.RankLoad:
    """A rank with a long queue whose engine has no metric for its tokens."""
    return wire_rank(dp_rank, num_waiting_reqs=500, prefill_throughput=1_000.0, **UNKNOWN, **fields)


@pytest.mark.clause("REPORT-8")
def test_a_long_queue_of_unknown_tokens_is_not_a_queue_without_pressure() -> None:
    before = WorkerView(target=WorkerTarget(url=A, reporter="h:1"), connection=REGISTERED, freshness_ms=3_000)
    seen = view_report(before, REGISTERED, report(vllm_rank(0), wire_rank(1)), {0: 1_000.0, 1: 1_024.0})
    assert seen.queue_pressure_seconds == {0: None, 1: 4.0}
    assert seen.aggregate is not None
    assert seen.aggregate.queue_pressure_seconds is None
    assert (seen.aggregate.num_waiting_reqs, seen.aggregate.max_waiting_reqs) == (503, 500)


@pytest.mark.parametrize("rate", [None, 0.0, 1_000.0])
def test_what_waits_being_unknown_no_rate_makes_a_pressure(rate: float | None) -> None:
    assert queue_pressure_seconds(None, rate) is None


@pytest.mark.clause("REPORT-8")
@pytest.mark.parametrize(
    ("name", "unknown"),
    [
        ("num_waiting_uncached_tokens", {"num_waiting_uncached_tokens"}),
        ("num_used_tokens", {"num_used_tokens"}),
        ("num_total_tokens", set()),
        ("token_usage", {"token_usage", "max_token_usage"}),
        ("gen_throughput", {"gen_throughput"}),
        ("cache_hit_rate", set()),
    ],
)
def test_what_one_rank_does_not_tell_is_unknown_for_the_worker(name: str, unknown: set[str]) -> None:
    numbers = ("num_waiting_uncached_tokens", "num_used_tokens", "token_usage", "max_token_usage", "gen_throughput")
    for ranks in ((wire_rank(0), wire_rank(1, **{name: None})), (wire_rank(0, **{name: None}), wire_rank(1))):
        row = aggregate_ranks(report(*ranks).ranks, {})
        assert row is not None
        assert {number for number in numbers if getattr(row, number) is None} == unknown


@pytest.mark.clause("REPORT-8")
def test_a_worker_with_unknown_tokens_is_picked_by_its_requests_and_does_not_look_half_as_loaded() -> None:
    busy = make_worker(A, make_rank(num_running_reqs=40, token_usage=None))
    rival = make_worker(B, make_rank(num_running_reqs=40, token_usage=0.3))
    choice = LeastLoaded().pick(make_snapshot(busy, rival), [A, B])
    assert choice.url == B
    assert choice.score == pytest.approx(0.35)
    idle = make_worker(A, make_rank(num_running_reqs=0, token_usage=None))
    assert LeastLoaded().pick(make_snapshot(idle, rival), [A, B]).url == A
    assert WeightedRandom().pick(make_snapshot(busy), [A]).score == pytest.approx(0.4)


def test_a_queue_counts_once_when_the_usage_is_unknown() -> None:
    load = rank_load(make_rank(num_running_reqs=100, num_waiting_reqs=200, token_usage=None))
    full = rank_load(make_rank(num_running_reqs=100, num_waiting_reqs=200, token_usage=1.0))
    assert load == full


@given(st.integers(0, 100), st.integers(0, 3_000))
def test_an_unknown_usage_never_scores_below_an_empty_cache_nor_above_a_full_one(running: int, waiting: int) -> None:
    empty, unknown, full = (
        rank_load(make_rank(num_running_reqs=running, num_waiting_reqs=waiting, token_usage=usage))
        for usage in (0.0, None, 1.0)
    )
    assert empty is not None
    assert unknown is not None
    assert full is not None
    assert empty.score <= unknown.score <= full.score
    assert unknown.score > empty.score or running + waiting == 0


def test_watch_shows_a_dash_for_a_rank_and_for_its_worker(capsys: pytest.CaptureFixture[str]) -> None:
    clock = ManualClock()
    shown = view("w:1", REGISTERED, report(vllm_rank(0), wire_rank(1)), clock)
    whole, first, second = rows(shown)
    assert (whole.waiting, whole.uncached, whole.usage, whole.generated) == (503, None, None, None)
    assert (first.waiting, first.uncached, first.usage, first.generated) == (500, None, None, None)
    assert (second.uncached, second.usage, second.generated) == (4_096, 0.5, 800.0)
    PlainOutput(5, brief=False).show(shown)
    _, all_ranks, rank, _ = capsys.readouterr().out.splitlines()
    assert all_ranks.split()[5:10] == ["24", "503", "-", "-", "-"]
    assert rank.split()[5:10] == ["12", "500", "-", "-", "-"]


def test_a_json_line_has_null_for_what_is_named_as_unknown() -> None:
    line = json.loads(json_line(view("w:1", REGISTERED, report(vllm_rank()), ManualClock())))
    (rank,) = line["report"]["ranks"]
    assert [rank[name] for name in UNKNOWN] == [None] * 6
    assert rank["num_waiting_reqs"] == 500


def scraped(*ranks: wire.RankLoad) -> Iterable[str]:
    snapshot = fleet(worker_load(A, *ranks))
    collector = FleetCollector(lambda: snapshot, MonitorStats, engine_metrics=EngineMetrics.VLLM)
    text = generate_latest(make_registry(collector)).decode()
    return [line for line in text.splitlines() if line.startswith(("loadmonitor_engine_", "vllm:"))]


def test_what_is_named_as_unknown_has_no_series() -> None:
    names = [line.partition("{")[0] for line in scraped(vllm_rank())]
    assert names == [
        "loadmonitor_engine_running_requests",
        "loadmonitor_engine_waiting_requests",
        "loadmonitor_engine_prefill_throughput",
        "vllm:num_requests_running",
        "vllm:num_requests_waiting",
    ]


def test_the_fullest_rank_has_no_series_when_one_rank_does_not_tell_its_use() -> None:
    assert [line for line in scraped(wire_rank(0), wire_rank(1)) if line.startswith("vllm:kv_cache_usage_perc")]
    for ranks in ((vllm_rank(0), wire_rank(1)), (wire_rank(0), vllm_rank(1))):
        lines = scraped(*ranks)
        assert not [line for line in lines if line.startswith("vllm:kv_cache_usage_perc")]
        assert len([line for line in lines if line.startswith("loadmonitor_engine_token_usage")]) == 1


def test_an_explanation_names_what_the_engine_does_not_tell_and_includes_the_worker() -> None:
    explanation = explain(worker_load(A, wire_rank(0), wire_rank(1, token_usage=None, cache_hit_rate=None)), NOW_NS)
    texts = {hop.name: (hop.ok, hop.text) for hop in explanation.hops}
    assert explanation.included
    assert texts["ranks"] == (
        True,
        "2 complete; waiting 3 to 3, token usage 0.50 to 0.50; the engine doesn't tell token_usage, cache_hit_rate",
    )
    bare = explain(worker_load(A, wire_rank(0, token_usage=None)), NOW_NS)
    assert "token usage -; the engine doesn't tell token_usage" in {hop.name: hop.text for hop in bare.hops}["ranks"]


def test_an_explanation_looks_at_each_field_that_may_be_named() -> None:
    assert list(_SELDOM_UNKNOWN) == list(wire.UNKNOWABLE_FIELDS.values())
