"""A Prometheus collector that reads ports when it is scraped."""

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.metadata import version

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from nic_metrics import prometheus
from nic_metrics.ports import PortId, read_port
from nic_metrics.prometheus import MetricFamily, SignalLoad
from nic_metrics.sampler import PortSampler
from nic_metrics.utilization import UnknownReason, Utilization

# Two scrapers may come right after one another, and a window of milliseconds would tell the second nothing.
_MIN_WINDOW_SECONDS = 1.0

_logger = logging.getLogger(__name__)

_Samples = Iterable[tuple[tuple[str, ...], float | None]]


class PortCollector(Collector):
    """Exports ports, and what signals tell of the source's load."""

    def __init__(
        self,
        ports: tuple[PortId, ...],
        root: str | os.PathLike[str],
        source_load: Callable[[], Mapping[str, SignalLoad]] | None,
        clock: Callable[[], float],
    ) -> None:
        """Read once, so that the first scrape has something to compare with."""
        self._labels = {port: (port.device, str(port.port)) for port in ports}
        self._root = root
        self._source_load = source_load
        self._sampler = PortSampler(ports, root=root, clock=clock, min_window_seconds=_MIN_WINDOW_SECONDS)
        self._last: dict[PortId, Utilization] = {}
        self._sampler.sample()

    def collect(self) -> Iterator[Metric]:
        """Return every family of `prometheus.FAMILIES`, with the series that have a value now."""
        totals, uses = self._sampler.totals(), self._uses()
        said = {port: read_port(port, self._root) for port in self._labels}
        labels = self._labels
        yield _family(prometheus.TRANSMITTED, ((labels[port], total.tx_bytes) for port, total in totals.items()))
        yield _family(prometheus.RECEIVED, ((labels[port], total.rx_bytes) for port, total in totals.items()))
        rates = (
            (labels[port], None if each.rate is None else each.rate.bytes_per_second) for port, each in said.items()
        )
        yield _family(prometheus.RATE, rates)
        states = ((labels[port], None if each.state is None else each.state.code) for port, each in said.items())
        yield _family(prometheus.STATE, states)
        physical = (
            (labels[port], None if each.phys_state is None else each.phys_state.code) for port, each in said.items()
        )
        yield _family(prometheus.PHYSICAL_STATE, physical)
        yield _family(prometheus.UTILIZATION, ((labels[port], use.value) for port, use in uses.items()))
        yield _family(prometheus.LOWER_BOUND, ((labels[port], use.missing is not None) for port, use in uses.items()))
        # Every reason from the start, so that the first time is an increase.
        unknown = (
            ((*labels[port], reason), use.reason is reason) for port, use in uses.items() for reason in UnknownReason
        )
        yield _family(prometheus.UNKNOWN, unknown)
        loads = self._loads()
        known = {signal: load for signal, load in loads.items() if load.value is not None}
        yield _family(prometheus.SOURCE_LOAD, (((signal,), load.value) for signal, load in known.items()))
        yield _family(prometheus.SOURCE_LOAD_AGE, (((signal,), load.age_seconds) for signal, load in known.items()))
        yield _family(prometheus.BUILD_INFO, [((version("nic-metrics"),), 1)])

    def _loads(self) -> Mapping[str, SignalLoad]:
        if self._source_load is None:
            return {}
        try:
            return self._source_load()
        except Exception:
            # The ports are no less true for it; what isn't known has no series.
            _logger.exception("the source's load can't be told, and is left out of this scrape")
            return {}

    def _uses(self) -> Mapping[PortId, Utilization]:
        for port, use in self._sampler.sample().items():
            if use.reason is not UnknownReason.WINDOW_TOO_SHORT or port not in self._last:
                self._last[port] = use
        return dict(self._last)


def registry_of(collector: Collector) -> CollectorRegistry:
    """Return a registry of its own: nothing of this process or its libraries is exported with it."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(collector)
    return registry


def _family(family: MetricFamily, samples: _Samples) -> Metric:
    kind = CounterMetricFamily if family.kind == "counter" else GaugeMetricFamily
    metric = kind(family.name, family.help, labels=family.labels)
    for labels, value in samples:
        if value is not None:
            metric.add_metric(labels, float(value))
    return metric
