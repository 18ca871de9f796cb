"""The Prometheus collector of one reporter; keeps nothing between two scrapes."""

from collections.abc import Iterator, Mapping
from importlib.metadata import version
from itertools import accumulate

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from loadmonitor_worker import metrics
from loadmonitor_worker.measurements import Histogram
from loadmonitor_worker.metrics import MetricFamily
from loadmonitor_worker.reporter import LoadReporter
from loadmonitor_worker.state import WorkerState


class ReporterCollector(Collector):
    """Exports every family of `metrics.FAMILIES`."""

    def __init__(self, reporter: LoadReporter) -> None:
        self._reporter = reporter

    def collect(self) -> Iterator[Metric]:
        """Read the reporter."""
        now = self._reporter.measure()
        states = {} if now.worker_state is None else {state.value: state is now.worker_state for state in WorkerState}
        yield _single(metrics.FIRES, now.fires)
        yield _by_word(metrics.REPORTS, now.reports)
        yield _single(metrics.COALESCED, now.coalesced_reports)
        yield _single(metrics.UNACKED, now.unacked_reports)
        yield _single(metrics.SESSIONS, now.sessions)
        yield _single(metrics.ORCA_STREAMS, now.orca_streams)
        yield _by_word(metrics.SESSION_EVENTS, now.session_events)
        yield _by_word(metrics.REFUSED, now.refused)
        yield _histogram(metrics.PULL_DURATION, now.pull_seconds)
        yield _histogram(metrics.FIRE_LAG, now.fire_lag_seconds)
        yield _histogram(metrics.SNAPSHOT_AGE, now.snapshot_age_seconds)
        yield _single(metrics.SENT_BYTES, now.sent_bytes)
        yield _single(metrics.CLAMPED, now.clamped_values)
        yield _by_word(metrics.STATE, states)
        yield _by_word(metrics.BUILD_INFO, {version("loadmonitor-worker"): 1})


def registry_of(collector: Collector) -> CollectorRegistry:
    """Return a registry that holds `collector` and nothing of this process."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(collector)
    return registry


def _single(family: MetricFamily, value: float) -> Metric:
    metric = _empty(family, ())
    metric.add_metric((), value)
    return metric


def _by_word(family: MetricFamily, values: Mapping[str, float]) -> Metric:
    assert family.label is not None
    metric = _empty(family, (family.label,))
    for word, value in values.items():
        metric.add_metric((word,), value)
    return metric


def _empty(family: MetricFamily, labels: tuple[str, ...]) -> CounterMetricFamily | GaugeMetricFamily:
    kind = CounterMetricFamily if family.kind == "counter" else GaugeMetricFamily
    return kind(family.name, family.help, labels=labels)


def _histogram(family: MetricFamily, histogram: Histogram) -> Metric:
    bounds = [*map(str, histogram.upper_bounds), "+Inf"]
    metric = HistogramMetricFamily(family.name, family.help)
    metric.add_metric((), list(zip(bounds, accumulate(histogram.counts), strict=True)), histogram.sum)
    return metric
