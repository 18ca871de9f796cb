"""Selections and attempts for Prometheus, as modelexpress 0.7.0 names them; needs the extra `[prometheus]`.

The families stand in a registry of their own, because a modelexpress in the same process has them in another one. Serve it beside
that, or instead of it:

    metrics = SelectionMetrics.from_config(config)
    pipeline = SelectionPipeline(selector, hook=metrics)
    prometheus_client.start_http_server(9464, registry=metrics.registry)
"""

from collections.abc import Iterator
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from p2p_selection.candidates import Candidate, known_load
from p2p_selection.config import SelectionConfig
from p2p_selection.errors import MetadataLookupError
from p2p_selection.interfaces import AttemptOutcome
from p2p_selection.selection import Fate, Selection

CANDIDATE_BUCKETS: Final = (0, 1, 2, 4, 8, 16, 32, 64, 128)
SELECTION_SECONDS_BUCKETS: Final = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
TRANSFER_SECONDS_BUCKETS: Final = (0.5, 1, 2, 5, 10, 30, 60, 120, 300)
LIST_RESULTS: Final = ("ok", "empty", "error")
_TRANSFERS: Final = {
    AttemptOutcome.SUCCESS: "success",
    AttemptOutcome.TRANSFER_RETRY: "retry",
    AttemptOutcome.TRANSFER_FALLBACK: "fallback",
}


class SelectionMetrics:
    """A `SelectionHook` that counts for Prometheus; may be shared by threads and by pipelines.

    Args:
        registry: Where the families are registered; by default a registry of their own.
        scheme: Value of the label `scheme` of every series.
        source_id_label: Give selections and loads the label `source_worker_id`. Ids are of processes, so the number of series
            grows with every restart: for a benchmark, not for a fleet.

    Attributes:
        registry: The registry that holds the families.
    """

    def __init__(
        self, *, registry: CollectorRegistry | None = None, scheme: str = "", source_id_label: bool = False
    ) -> None:
        self.registry: CollectorRegistry = CollectorRegistry() if registry is None else registry
        self._scheme = scheme
        self._source_id_label = source_id_label
        self._loads = _Loads(scheme, source_id_label=source_id_label)
        self.registry.register(self._loads)
        by_policy = ["policy", "scheme"]
        self._selections = Counter(
            "mx_p2p_source_selections_total",
            "Sources that a pull was tried from.",
            [*by_policy, *(["source_worker_id"] if source_id_label else [])],
            registry=self.registry,
        )
        self._attempts = Counter(
            "mx_p2p_source_attempts_total",
            "Attempts by how they ended.",
            [*by_policy, "result"],
            registry=self.registry,
        )
        self._lookup_failures = Counter(
            "mx_p2p_metadata_lookup_failures_total",
            "Sources whose metadata could not be asked for.",
            by_policy,
            registry=self.registry,
        )
        self._lists = Counter(
            "mx_p2p_list_sources_total",
            "Lists of sources: ok, empty, or error where there was none.",
            [*by_policy, "result"],
            registry=self.registry,
        )
        self._candidates = Histogram(
            "mx_p2p_candidates",
            "Sources left at each stage of a selection.",
            [*by_policy, "stage"],
            buckets=CANDIDATE_BUCKETS,
            registry=self.registry,
        )
        self._selection_seconds = Histogram(
            "mx_p2p_source_selection_seconds",
            "Seconds that ordering the candidates took.",
            by_policy,
            buckets=SELECTION_SECONDS_BUCKETS,
            registry=self.registry,
        )
        self._transfer_seconds = Histogram(
            "mx_p2p_transfer_seconds",
            "Seconds that a pull took, by how it ended.",
            [*by_policy, "outcome"],
            buckets=TRANSFER_SECONDS_BUCKETS,
            registry=self.registry,
        )

    @classmethod
    def from_config(
        cls, config: SelectionConfig, *, registry: CollectorRegistry | None = None
    ) -> "SelectionMetrics | None":
        """Return metrics as the settings want them, or None where they want none."""
        if not config.metrics_enabled:
            return None
        return cls(registry=registry, scheme=config.metrics_scheme, source_id_label=config.metrics_source_id_label)

    def selected(self, selection: Selection, seconds: float) -> None:
        """Count a list and its funnel, and show the loads that were seen."""
        policy = selection.policy
        self._list(policy, "ok" if selection.verdicts else "empty")
        for stage, count in selection.funnel.items():
            self._candidates.labels(policy, self._scheme, stage.value).observe(count)
        if selection.verdicts:
            self._selection_seconds.labels(policy, self._scheme).observe(seconds)
        self._loads.show(selection)

    def listing_failed(self, policy: str, error: Exception) -> None:
        """Count a list that there was not."""
        del error  # no label holds free text
        self._list(policy, "error")

    def attempted(
        self, policy: str, candidate: Candidate, outcome: AttemptOutcome, seconds: float, error: Exception | None
    ) -> None:
        """Count an attempt; one that found something to pull is a selection too, and its seconds are a transfer's."""
        for result in AttemptOutcome:
            self._attempts.labels(policy, self._scheme, result.value).inc(result is outcome)
        self._lookup_failures.labels(policy, self._scheme).inc(isinstance(error, MetadataLookupError))
        if outcome in _TRANSFERS:
            source = (candidate.worker_id,) if self._source_id_label else ()
            self._selections.labels(policy, self._scheme, *source).inc()
            self._transfer_seconds.labels(policy, self._scheme, _TRANSFERS[outcome]).observe(seconds)

    def _list(self, policy: str, result: str) -> None:
        # Every value is there from the first list on: a rate from nothing to one shows nothing.
        for each in LIST_RESULTS:
            self._lists.labels(policy, self._scheme, each).inc(each == result)


class _Loads(Collector):
    """The loads of the last selection, all at once, so that none of an earlier one stays behind."""

    def __init__(self, scheme: str, *, source_id_label: bool) -> None:
        self._scheme = scheme
        self._source_id_label = source_id_label
        self._seen: dict[tuple[str, ...], float] = {}

    def show(self, selection: Selection) -> None:
        ranked = [v.candidate for v in selection.verdicts if v.candidate is not None and v.fate is not Fate.DROPPED]
        seen = {}
        for candidate in ranked if self._source_id_label else ranked[:1]:
            load = known_load(candidate.source_load)
            if load is not None:
                seen[self._scheme, *([candidate.worker_id] if self._source_id_label else [])] = load
        self._seen = seen

    def collect(self) -> Iterator[GaugeMetricFamily]:
        family = GaugeMetricFamily(
            "mx_p2p_source_load",
            "Load of the sources of the last selection, 0 to 1, as they publish it; no series for one that is not known.",
            labels=["scheme", *(["source_worker_id"] if self._source_id_label else [])],
        )
        for labels, load in self._seen.items():
            family.add_metric(labels, load)
        yield family
