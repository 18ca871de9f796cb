"""What a scrape shows of a fleet: exact text, and what must never be in it."""

import math
from dataclasses import replace

import pytest
from fleet_samples import everything, fleet, lost, worker_load
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from loadmonitor_router import ConfigError, ConnectionState, DropReason, Freshness, WorkerType
from loadmonitor_router.export import FAMILIES, EngineMetrics, FleetCollector, Kind, make_registry
from loadmonitor_router.snapshot import FleetSnapshot
from loadmonitor_router.stats import Histogram, MonitorStats, ReconnectReason
from loadmonitor_router.testing import wire_rank

Series = dict[tuple[str, frozenset[tuple[str, str]]], float]


def scrape(
    snapshot: FleetSnapshot, counts: MonitorStats | None = None, *, engine: EngineMetrics = EngineMetrics.OFF
) -> str:
    collector = FleetCollector(lambda: snapshot, lambda: counts or MonitorStats(), engine_metrics=engine)
    return generate_latest(make_registry(collector)).decode()


def series(text: str) -> Series:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def lines(text: str, start: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith(start)]


def test_a_rank_has_one_series_in_each_engine_family_under_four_labels() -> None:
    rank = wire_rank(2, num_running_reqs=13, num_waiting_reqs=0, token_usage=0.5)
    rank.prefill_throughput = 2_048.0
    load = worker_load("http://10.0.0.1:30000", rank, worker_type=WorkerType.PREFILL, pressure={2: 2.0})
    labels = '{dp_rank="2",model_name="m",worker="http://10.0.0.1:30000",worker_type="prefill"}'
    shown = lines(scrape(fleet(load)), "loadmonitor_engine_")
    assert [line.replace(labels, "") for line in shown] == [
        "loadmonitor_engine_running_requests 13.0",
        "loadmonitor_engine_waiting_requests 0.0",
        "loadmonitor_engine_waiting_uncached_tokens 4096.0",
        "loadmonitor_engine_token_usage 0.5",
        "loadmonitor_engine_gen_throughput 800.0",
        "loadmonitor_engine_prefill_throughput 2048.0",
        "loadmonitor_engine_cache_hit_rate 0.25",
        "loadmonitor_engine_queue_pressure_seconds 2.0",
    ]


def test_what_a_rank_does_not_tell_has_no_series_and_a_measured_zero_has_one() -> None:
    load = worker_load("http://w", wire_rank(0, num_waiting_reqs=0), wire_rank(1), pressure={0: None, 1: 0.0})
    text = scrape(fleet(load))
    assert lines(text, "loadmonitor_engine_prefill_throughput") == []
    (pressure,) = lines(text, "loadmonitor_engine_queue_pressure_seconds")
    assert 'dp_rank="1"' in pressure
    assert pressure.endswith(" 0.0")
    assert [line.rpartition(" ")[2] for line in lines(text, "loadmonitor_engine_waiting_requests{")] == ["0.0", "3.0"]


@pytest.mark.parametrize("freshness", [Freshness.STALE, Freshness.UNREACHABLE, Freshness.MISSING])
def test_the_load_of_a_worker_that_is_not_fresh_is_left_out_and_the_worker_counted(freshness: Freshness) -> None:
    text = scrape(fleet(worker_load("http://a"), worker_load("http://b", freshness=freshness, age_ms=4_100.0)))
    assert not [line for line in lines(text, "loadmonitor_engine_") if "http://b" in line]
    assert lines(text, "loadmonitor_engine_running_requests{")
    assert f'loadmonitor_router_workers{{state="{freshness}"}} 1.0' in text
    assert ('loadmonitor_router_report_age_seconds{worker="http://b"} 4.1' in text) is (
        freshness is not Freshness.MISSING
    )


def test_a_worker_that_left_has_no_series_in_the_next_scrape() -> None:
    snapshots = [fleet(worker_load("http://a"), worker_load("http://b")), fleet(worker_load("http://a"))]
    registry = make_registry(FleetCollector(lambda: snapshots.pop(0), MonitorStats))
    assert b"http://b" in generate_latest(registry)
    after = generate_latest(registry).decode()
    assert "http://b" not in after
    assert 'loadmonitor_router_report_age_seconds{worker="http://a"} 0.084' in after


def test_every_word_of_a_closed_set_is_there_from_the_start_with_zero() -> None:
    found = series(scrape(fleet()))
    for name, label, words in (
        ("loadmonitor_router_workers", "state", Freshness),
        ("loadmonitor_router_sessions", "state", ConnectionState),
        ("loadmonitor_router_dropped_reports_total", "reason", DropReason),
        ("loadmonitor_router_reconnects_total", "reason", ReconnectReason),
    ):
        there = {key: value for key, value in found.items() if key[0] == name}
        assert there == {(name, frozenset({(label, str(word))})): 0.0 for word in words}


def test_the_monitors_own_families_stand_as_written() -> None:
    histogram = Histogram((0.1, 1.0))
    for seconds in (0.1, 0.5, 7.0):
        histogram.observe(seconds)
    counts = MonitorStats(
        reports_total=12,
        dropped_reports_total={DropReason.NEGATIVE: 2},
        reconnects_total={ReconnectReason.SESSION_REPLACED: 3},
        sessions={ConnectionState.REGISTERED: 1},
        delivery_age_seconds=histogram,
        fail_open=True,
        picks_total={"least_loaded": 5},
    )
    delivery_age = (
        "# TYPE loadmonitor_router_delivery_age_seconds histogram\n"
        'loadmonitor_router_delivery_age_seconds_bucket{le="0.1"} 1.0\n'
        'loadmonitor_router_delivery_age_seconds_bucket{le="1.0"} 2.0\n'
        'loadmonitor_router_delivery_age_seconds_bucket{le="+Inf"} 3.0\n'
        "loadmonitor_router_delivery_age_seconds_count 3.0\n"
        "loadmonitor_router_delivery_age_seconds_sum 7.6\n"
    )
    text = scrape(fleet(), counts)
    for literal in (
        delivery_age,
        "# TYPE loadmonitor_router_reports_total counter\nloadmonitor_router_reports_total 12.0\n",
        'loadmonitor_router_dropped_reports_total{reason="negative"} 2.0\n',
        'loadmonitor_router_reconnects_total{reason="session_replaced"} 3.0\n',
        'loadmonitor_router_sessions{state="registered"} 1.0\n',
        "loadmonitor_router_fail_open 1.0\n",
        'loadmonitor_router_picks_total{policy="least_loaded"} 5.0\n',
        "# TYPE loadmonitor_router_build_info gauge\nloadmonitor_router_build_info{version=",
    ):
        assert literal in text


def test_a_monitor_that_does_not_pick_says_nothing_of_fail_open() -> None:
    assert lines(scrape(fleet(), MonitorStats(fail_open=None)), "loadmonitor_router_fail_open") == []
    assert lines(scrape(fleet(), MonitorStats(fail_open=False)), "loadmonitor_router_fail_open") == [
        "loadmonitor_router_fail_open 0.0"
    ]


def test_labels_survive_quotes_backslashes_and_new_lines() -> None:
    url, model = 'http://w/"a"\\b', 'line\none "two"'
    text = scrape(fleet(worker_load(url, model=model)))
    labels = [dict(labels) for name, labels in series(text) if name == "loadmonitor_engine_running_requests"]
    assert labels == [{"worker": url, "model_name": model, "dp_rank": "0", "worker_type": "regular"}]


def test_no_number_that_is_not_finite_is_exported() -> None:
    load = worker_load("http://w", pressure={0: math.nan}, age_ms=math.inf)
    assert load.report is not None
    odd = replace(load.report.ranks[0], token_usage=math.nan, gen_throughput=math.inf)
    text = scrape(fleet(replace(load, report=replace(load.report, ranks=(odd,)))), engine=EngineMetrics.VLLM)
    values = [value for (name, _), value in series(text).items() if not name.endswith("_bucket")]
    assert values
    assert all(map(math.isfinite, values))
    assert lines(text, "loadmonitor_engine_running_requests{")


def test_each_family_of_the_table_is_exported_with_its_help_type_and_labels_and_no_other() -> None:
    snapshot, counts = everything()
    found = {family.name: family for family in text_string_to_metric_families(scrape(snapshot, counts))}
    wanted = {
        family.name.removesuffix("_total") if family.kind is Kind.COUNTER else family.name: family
        for family in FAMILIES
    }
    assert list(found) == list(wanted)
    for name, family in wanted.items():
        assert (found[name].documentation, found[name].type) == (family.help, family.kind)
        assert found[name].samples
        for sample in found[name].samples:
            assert set(sample.labels) - {"le"} == set(family.labels)


def test_no_family_takes_a_label_that_comes_from_the_scrape_and_none_has_a_creation_time() -> None:
    snapshot, counts = everything()
    found = series(scrape(snapshot, counts))
    labels = {name for _, pairs in found for name, _ in pairs}
    assert not labels & {"pod", "namespace", "node", "instance", "job", "container", "endpoint", "service", "router_id"}
    assert not [name for name, _ in found if name.endswith("_created") or ":" in name]


def test_a_router_id_is_a_label_of_every_own_family_where_it_is_asked_for() -> None:
    snapshot, counts = everything()
    collector = FleetCollector(lambda: snapshot, lambda: counts, router_id="r-1", engine_metrics=EngineMetrics.VLLM)
    found = series(generate_latest(make_registry(collector)).decode())
    assert {dict(labels).get("router_id") for name, labels in found if name.startswith("loadmonitor_")} == {"r-1"}
    assert {dict(labels).get("router_id") for name, labels in found if name.startswith("vllm:")} == {None}
    with pytest.raises(ConfigError, match="router_id=' ' is blank"):
        FleetCollector(lambda: snapshot, lambda: counts, router_id=" ")


@pytest.mark.parametrize(
    ("engine", "names"),
    [
        (EngineMetrics.VLLM, ["vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:kv_cache_usage_perc"]),
        (EngineMetrics.SGLANG, ["sglang:num_running_reqs", "sglang:num_queue_reqs", "sglang:token_usage"]),
    ],
)
def test_under_an_engines_names_there_is_one_series_each_sums_and_the_fullest_rank(
    engine: EngineMetrics, names: list[str]
) -> None:
    loads = (
        worker_load("http://a", wire_rank(0, num_running_reqs=2, num_waiting_reqs=1, token_usage=0.25), wire_rank(1)),
        worker_load("http://b", wire_rank(0, num_running_reqs=5, num_waiting_reqs=0, token_usage=0.75)),
    )
    text = scrape(fleet(*loads), engine=engine)
    assert [line for line in text.splitlines() if line.startswith(engine)] == [
        f'{name}{{model_name="m"}} {value}' for name, value in zip(names, ("19.0", "4.0", "0.75"), strict=True)
    ]
    stale = worker_load("http://c", freshness=Freshness.STALE)
    assert lines(scrape(fleet(*loads, stale), engine=engine), f"{engine}:") == []
    assert lines(scrape(fleet(), engine=engine), f"{engine}:") == []


def test_models_that_differ_share_one_series_without_a_name() -> None:
    text = scrape(
        fleet(worker_load("http://a", model="x"), worker_load("http://b", model="y")), engine=EngineMetrics.VLLM
    )
    assert lines(text, "vllm:num_requests_running") == ['vllm:num_requests_running{model_name=""} 24.0']


def test_a_lost_worker_is_counted_as_missing() -> None:
    load = worker_load("http://a", freshness=Freshness.MISSING, connection=lost())
    assert 'loadmonitor_router_workers{state="missing"} 1.0' in scrape(fleet(load))
