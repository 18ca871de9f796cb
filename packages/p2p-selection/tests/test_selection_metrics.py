"""What Prometheus scrapes, under the names, labels and buckets of modelexpress 0.7.0."""

import math

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from p2p_selection import (
    AttemptOutcome,
    Candidate,
    LoadAware,
    MetadataLookupError,
    MetadataMissError,
    SelectionConfig,
    SelectionPipeline,
    Target,
)
from p2p_selection.prometheus import SelectionMetrics

TARGET = Target("m", "t", 0, accelerator="cuda")
IDLE, BUSY, UNKNOWN = Candidate("s", "idle", 0, 0.0), Candidate("s", "busy", 0, 0.9), Candidate("s", "unknown", 0)
POLICY = 'policy="load_aware",scheme="blue"'


def scrape(metrics: SelectionMetrics) -> dict[str, float]:
    samples = {}
    for family in text_string_to_metric_families(generate_latest(metrics.registry).decode()):
        for sample in family.samples:
            if not sample.name.endswith("_created"):
                labels = ",".join(
                    f'{name}="{value}"'
                    for name, value in sorted(
                        sample.labels.items(), key=lambda label: (label[0] not in ("policy", "scheme"), label)
                    )
                )
                samples[f"{sample.name}{{{labels}}}"] = sample.value
    return samples


def watched(*, source_id_label: bool = False) -> tuple[SelectionMetrics, SelectionPipeline]:
    metrics = SelectionMetrics(scheme="blue", source_id_label=source_id_label)
    return metrics, SelectionPipeline(LoadAware(weight=2.0), hook=metrics, limit=1)


def test_a_selection_is_a_list_a_funnel_and_the_seconds_of_the_order() -> None:
    metrics, chosen = watched()
    chosen.select([IDLE, BUSY, Candidate("s", "other", 1), Candidate("s", "amd", 0, accelerator="rocm")], TARGET)
    seen = scrape(metrics)
    for stage, count in (("listed", 4.0), ("rank_matched", 3.0), ("accelerator_matched", 2.0)):
        assert seen[f'mx_p2p_candidates_sum{{{POLICY},stage="{stage}"}}'] == count
    assert seen[f"mx_p2p_source_selection_seconds_count{{{POLICY}}}"] == 1.0
    results = {result: seen[f'mx_p2p_list_sources_total{{{POLICY},result="{result}"}}'] for result in ("ok", "empty")}
    assert results == {"ok": 1.0, "empty": 0.0}
    assert seen[f'mx_p2p_list_sources_total{{{POLICY},result="error"}}'] == 0.0


def test_an_empty_list_and_none_at_all_are_told_apart() -> None:
    metrics, chosen = watched()
    chosen.select([], TARGET)
    chosen.listing_failed(OSError("down"))
    chosen.listing_failed(OSError("down"))
    seen = scrape(metrics)
    assert seen[f'mx_p2p_list_sources_total{{{POLICY},result="empty"}}'] == 1.0
    assert seen[f'mx_p2p_list_sources_total{{{POLICY},result="error"}}'] == 2.0
    assert seen[f'mx_p2p_candidates_bucket{{{POLICY},le="0.0",stage="listed"}}'] == 1.0


def test_attempts_are_counted_by_result_and_transfers_by_outcome() -> None:
    metrics, chosen = watched()
    chosen.attempted(IDLE, AttemptOutcome.METADATA_MISS, 0.1, MetadataMissError("none"))
    chosen.attempted(IDLE, AttemptOutcome.METADATA_MISS, 0.1, MetadataLookupError("down"))
    chosen.attempted(IDLE, AttemptOutcome.TRANSFER_RETRY, 300.0, OSError("broken"))
    chosen.attempted(BUSY, AttemptOutcome.SUCCESS, 4.0)
    seen = scrape(metrics)
    results = {
        result.value: seen[f'mx_p2p_source_attempts_total{{{POLICY},result="{result.value}"}}']
        for result in AttemptOutcome
    }
    assert results == {"success": 1.0, "metadata_miss": 2.0, "transfer_retry": 1.0, "transfer_fallback": 0.0}
    assert seen[f"mx_p2p_metadata_lookup_failures_total{{{POLICY}}}"] == 1.0
    assert seen[f"mx_p2p_source_selections_total{{{POLICY}}}"] == 2.0
    assert seen[f'mx_p2p_transfer_seconds_sum{{{POLICY},outcome="retry"}}'] == 300.0
    assert seen[f'mx_p2p_transfer_seconds_sum{{{POLICY},outcome="success"}}'] == 4.0


def test_without_the_label_the_load_is_that_of_the_chosen_source() -> None:
    metrics, chosen = watched()
    chosen.select([BUSY, IDLE], TARGET)
    assert scrape(metrics)['mx_p2p_source_load{scheme="blue"}'] == 0.0
    chosen.select([BUSY], TARGET)
    assert scrape(metrics)['mx_p2p_source_load{scheme="blue"}'] == 0.9


@pytest.mark.parametrize("load", [None, math.nan, -math.inf])
def test_an_unknown_load_clears_the_series(load: float | None) -> None:
    metrics, chosen = watched()
    chosen.select([BUSY], TARGET)
    chosen.select([Candidate("s", "busy", 0, load)], TARGET)
    assert not [name for name in scrape(metrics) if name.startswith("mx_p2p_source_load")]


def test_with_the_label_every_candidate_of_the_last_selection_has_its_load_and_no_other() -> None:
    metrics, chosen = watched(source_id_label=True)
    chosen.select([Candidate("s", "gone", 0, 0.1)], TARGET)
    chosen.select([IDLE, BUSY, UNKNOWN, Candidate("s", "other rank", 1, 0.2)], TARGET)
    chosen.attempted(IDLE, AttemptOutcome.SUCCESS, 1.0)
    seen = scrape(metrics)
    loads = {name: value for name, value in seen.items() if name.startswith("mx_p2p_source_load")}
    assert loads == {
        'mx_p2p_source_load{scheme="blue",source_worker_id="idle"}': 0.0,
        'mx_p2p_source_load{scheme="blue",source_worker_id="busy"}': 0.9,
    }
    assert seen[f'mx_p2p_source_selections_total{{{POLICY},source_worker_id="idle"}}'] == 1.0


def test_two_in_one_process_do_not_collide_and_a_registry_can_be_given() -> None:
    SelectionMetrics()
    registry = CollectorRegistry()
    assert SelectionMetrics(registry=registry).registry is registry


def test_the_settings_say_whether_and_how() -> None:
    assert SelectionMetrics.from_config(SelectionConfig()) is None
    environ = {"MX_METRICS_ENABLED": "1", "MX_METRICS_SCHEME": "green", "MX_METRICS_SOURCE_ID_LABEL": "yes"}
    metrics = SelectionMetrics.from_config(SelectionConfig.from_env(environ))
    assert metrics is not None
    SelectionPipeline(LoadAware(), hook=metrics).select([BUSY], TARGET)
    assert scrape(metrics)['mx_p2p_source_load{scheme="green",source_worker_id="busy"}'] == 0.9
