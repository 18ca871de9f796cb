"""What three parties say of the same pulls: the pullers' reports, the sources' counts, and the pullers' metrics."""

from collections import Counter
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from math import isnan, log
from typing import Any

from p2p_commands import MODEL
from prometheus_client.parser import text_string_to_metric_families

Report = dict[str, Any]
Series = tuple[str, frozenset[tuple[str, str]]]


def unit(report: Report, source: str) -> float:
    """Return the hash of a puller and a source as a number of [0, 1), computed apart from the packages."""
    key = f"{MODEL}|{report['puller']}|0|{report['source_id']}|{source}|0"
    return int.from_bytes(blake2b(key.encode(), digest_size=8).digest(), "big") / 2**64


def rendezvous_order(report: Report) -> list[str]:
    """Return what a puller listed, in the order of rendezvous hashing."""
    return sorted(report["listed"], key=lambda source: unit(report, source), reverse=True)


def expected_order(report: Report, policy: str, weight: float = 1.0) -> list[str]:
    """Return what a puller listed, in the order that the policy's formula gives the loads that it saw."""

    def score(source: str) -> float:
        load = report["listed"][source]
        load = 0.5 if load is None or isnan(load) else min(1.0, load)
        hashed = unit(report, source)
        return hashed - weight * load if policy == "load_aware" else -(max(1 - load, 0.1) ** weight) / log(hashed)

    return sorted(report["listed"], key=score, reverse=True)


def series(texts: Iterable[str]) -> Counter[Series]:
    """Return the sum of several processes' counters."""
    total: Counter[Series] = Counter()
    for text in texts:
        for family in text_string_to_metric_families(text):
            if family.type != "gauge":
                for sample in family.samples:
                    total[sample.name, frozenset(sample.labels.items())] += sample.value  # type: ignore[assignment]
    return total


def loads(text: str) -> dict[str, float]:
    """Return the gauge of the sources' loads of one process, by source."""
    (family,) = (f for f in text_string_to_metric_families(text) if f.name == "mx_p2p_source_load")
    return {sample.labels["source_worker_id"]: sample.value for sample in family.samples}


def by_label(counted: Mapping[Series, float], name: str, label: str, policy: str) -> dict[str, float]:
    """Return a family's counts of one policy by the values of a label, without those that are 0."""
    found: Counter[str] = Counter()
    for (family, labels), value in counted.items():
        if family == name and ("policy", policy) in labels:
            found[dict(labels)[label]] += value  # type: ignore[assignment]
    return {value: count for value, count in found.items() if count}


def assert_same_story(
    reports: Iterable[Report], policy: str, counted: Mapping[Series, float], sources: Mapping[str, Report]
) -> None:
    """Compare what pullers report of one policy's pulls, what their metrics counted meanwhile, and what the sources that live served."""
    reports = list(reports)
    attempts = [(source, outcome) for report in reports for source, outcome in report["attempts"]]
    tried = Counter(source for source, outcome in attempts if outcome != "metadata_miss")
    assert by_label(counted, "mx_p2p_source_selections_total", "source_worker_id", policy) == tried
    outcomes = Counter(outcome for _, outcome in attempts)
    assert by_label(counted, "mx_p2p_source_attempts_total", "result", policy) == outcomes
    results = Counter("ok" if report["listed"] else "empty" for report in reports)
    assert by_label(counted, "mx_p2p_list_sources_total", "result", policy) == results
    transfers = by_label(counted, "mx_p2p_transfer_seconds_count", "outcome", policy)
    assert transfers.get("success", 0) == outcomes["success"]
    funnel = by_label(counted, "mx_p2p_candidates_sum", "stage", policy)
    assert funnel.get("listed", 0) == sum(len(report["listed"]) for report in reports)
    dropped = sum(sum(report["dropped"].values()) for report in reports)
    assert funnel.get("accelerator_matched", 0) == funnel.get("listed", 0) - dropped
    pulled = Counter((report["source"], report["puller"]) for report in reports if report["source"] in sources)
    assert pulled == Counter((name, puller) for name, served in sources.items() for puller in served["done"])
