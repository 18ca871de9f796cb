"""A Prometheus collector that reads the fleet when it is scraped, and keeps nothing between two scrapes."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from importlib.metadata import version
from typing import TypeVar

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from loadmonitor_router.age import Freshness
from loadmonitor_router.connection import ConnectionState
from loadmonitor_router.errors import ConfigError, DropReason
from loadmonitor_router.export import metrics
from loadmonitor_router.export.metrics import EngineMetrics, Family
from loadmonitor_router.reports import RankLoad
from loadmonitor_router.snapshot import FleetSnapshot, WorkerLoad
from loadmonitor_router.stats import Histogram, MonitorStats, ReconnectReason

_Word = TypeVar("_Word", bound=StrEnum)
_Samples = Iterable[tuple[tuple[str, ...], float | None]]

_RANK_VALUES: dict[Family, Callable[[RankLoad], float | None]] = {
    metrics.RUNNING_REQUESTS: lambda rank: rank.num_running_reqs,
    metrics.WAITING_REQUESTS: lambda rank: rank.num_waiting_reqs,
    metrics.WAITING_UNCACHED_TOKENS: lambda rank: rank.num_waiting_uncached_tokens,
    metrics.TOKEN_USAGE: lambda rank: rank.token_usage,
    metrics.GEN_THROUGHPUT: lambda rank: rank.gen_throughput,
    metrics.PREFILL_THROUGHPUT: lambda rank: rank.prefill_throughput,
    metrics.CACHE_HIT_RATE: lambda rank: rank.cache_hit_rate,
}


class FleetCollector(Collector):
    """Exports a fleet and the monitor that watches it.

    The load of a worker is exported while it is fresh. Prometheus stamps what it scrapes with the time of the scrape, so
    a number that may be old would be recorded as new; of a worker that isn't fresh there is `_report_age_seconds`, if
    known, and it counts in `_workers`. A worker that has left has no series from the next scrape on.
    """

    def __init__(
        self,
        snapshot: Callable[[], FleetSnapshot],
        stats: Callable[[], MonitorStats],
        *,
        router_id: str | None = None,
        engine_metrics: EngineMetrics = EngineMetrics.OFF,
    ) -> None:
        """Read nothing yet.

        Args:
            snapshot: Returns the fleet as it stands; called once a scrape, on the thread that scrapes: see `on_loop`.
            stats: Returns the monitor's counters; called likewise.
            router_id: Value of a label `router_id` on every family of this package; None leaves the label out.
            engine_metrics: Whose names to export the load under as well, one series a family. Nothing is exported under
                them unless every worker is fresh.

        Raises:
            ConfigError: `router_id` is blank.
        """
        if router_id is not None and not router_id.strip():
            raise ConfigError(f"router_id={router_id!r} is blank: give a name, or None to leave the label out")
        self._snapshot = snapshot
        self._stats = stats
        self._own = {} if router_id is None else {"router_id": router_id}
        self._engine_families = metrics.ENGINE_FAMILIES.get(engine_metrics)
        self._version = version("loadmonitor-router")

    def collect(self) -> Iterator[Metric]:
        """Return every family of `metrics.FAMILIES`, with the series that have a value now."""
        fleet = self._snapshot().workers
        ranks = [(_rank_labels(load, rank), rank, load) for load in fleet.values() for rank in _fresh_ranks(load)]
        for family, value in _RANK_VALUES.items():
            yield self._gauge(family, ((labels, value(rank)) for labels, rank, _ in ranks))
        pressures = ((labels, load.queue_pressure_seconds.get(rank.dp_rank)) for labels, rank, load in ranks)
        yield self._gauge(metrics.QUEUE_PRESSURE, pressures)
        yield from self._collect_monitor(fleet)
        if self._engine_families is not None:
            yield from _collect_engine(self._engine_families, fleet)

    def _collect_monitor(self, fleet: Mapping[str, WorkerLoad]) -> Iterator[Metric]:
        stats = self._stats()
        states = Counter(load.freshness for load in fleet.values())
        yield self._gauge(metrics.WORKERS, _by_word(states, Freshness))
        yield self._gauge(metrics.REPORT_AGE, (((url,), _seconds(load.age_ms)) for url, load in fleet.items()))
        yield self._histogram(metrics.DELIVERY_AGE, stats.delivery_age_seconds)
        yield self._counter(metrics.REPORTS, [((), stats.reports_total)])
        yield self._counter(metrics.DROPPED_REPORTS, _by_word(stats.dropped_reports_total, DropReason))
        yield self._counter(metrics.RECONNECTS, _by_word(stats.reconnects_total, ReconnectReason))
        yield self._gauge(metrics.SESSIONS, _by_word(stats.sessions, ConnectionState))
        yield self._gauge(metrics.FAIL_OPEN, [((), stats.fail_open)])
        yield self._counter(metrics.PICKS, (((policy,), number) for policy, number in dict(stats.picks_total).items()))
        yield self._gauge(metrics.BUILD_INFO, [((self._version,), 1)])

    def _gauge(self, family: Family, samples: _Samples) -> Metric:
        return _filled(GaugeMetricFamily(family.name, family.help, labels=self._labels(family)), samples, self._own)

    def _counter(self, family: Family, samples: _Samples) -> Metric:
        return _filled(CounterMetricFamily(family.name, family.help, labels=self._labels(family)), samples, self._own)

    def _histogram(self, family: Family, histogram: Histogram) -> Metric:
        metric = HistogramMetricFamily(family.name, family.help, labels=self._labels(family))
        buckets = [("+Inf" if math.isinf(bound) else str(bound), number) for bound, number in histogram.cumulative()]
        metric.add_metric(tuple(self._own.values()), buckets, histogram.sum)
        return metric

    def _labels(self, family: Family) -> tuple[str, ...]:
        return (*family.labels, *self._own)


def make_registry(collector: Collector) -> CollectorRegistry:
    """Return a registry of its own for the collector: nothing of this process or its libraries is exported with it."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(collector)
    return registry


def _filled(
    metric: GaugeMetricFamily | CounterMetricFamily, samples: _Samples, own: Mapping[str, str]
) -> GaugeMetricFamily | CounterMetricFamily:
    for labels, value in samples:
        if value is not None and math.isfinite(value):
            metric.add_metric((*labels, *own.values()), float(value))
    return metric


def _by_word(counts: Mapping[_Word, int], words: Iterable[_Word]) -> _Samples:
    return [((word.value,), counts.get(word, 0)) for word in words]


def _seconds(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1_000


def _fresh_ranks(load: WorkerLoad) -> tuple[RankLoad, ...]:
    return load.report.ranks if load.report is not None and load.freshness is Freshness.FRESH else ()


def _rank_labels(load: WorkerLoad, rank: RankLoad) -> tuple[str, ...]:
    assert load.report is not None
    info = load.report.worker
    worker_type = info.worker_type or load.target.worker_type
    return (load.target.url, info.model or "", str(rank.dp_rank), worker_type.name.lower())


def _collect_engine(families: metrics.EngineFamilies, fleet: Mapping[str, WorkerLoad]) -> Iterator[Metric]:
    """Return one series a family, under the model's name where all workers serve the same one."""
    ranks: list[RankLoad] = []
    models: set[str] = set()
    complete = all(load.freshness is Freshness.FRESH for load in fleet.values())
    for load in fleet.values() if complete else ():
        ranks += _fresh_ranks(load)
        models.add((load.report and load.report.worker.model) or "")
    label = (models.pop() if len(models) == 1 else "",)
    usages = [rank.token_usage for rank in ranks if rank.token_usage is not None]
    samples: tuple[tuple[Family, float | None], ...] = (
        (families.running, sum(rank.num_running_reqs for rank in ranks)),
        (families.waiting, sum(rank.num_waiting_reqs for rank in ranks)),
        # One that isn't told might be the greatest.
        (families.usage, max(usages, default=None) if len(usages) == len(ranks) else None),
    )
    for family, value in samples:
        metric = GaugeMetricFamily(family.name, family.help, labels=family.labels)
        yield _filled(metric, [(label, value)] if ranks else [], {})
