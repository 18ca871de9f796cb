"""What RDMA NICs say of themselves: ports, link rate, byte counters, and how busy a port was between two samples.

`list_ports` finds them, `PortSampler` measures them, `measure` is the arithmetic alone. `ServingLoadReader` tells how full an engine
is, `make_source_load_provider` blends both to the one load that a weight source publishes.
"""

from nic_metrics.blend import Blend, busiest, busiest_known
from nic_metrics.counters import BYTE_SOURCES, ByteSource, CounterSet, CounterValue
from nic_metrics.errors import (
    ExpositionError,
    ExpositionProblem,
    LinkRateError,
    LinkRateProblem,
    MetricsUrlError,
    NicMetricsError,
    PortIdError,
    ScrapeError,
    ScrapeProblem,
)
from nic_metrics.exposition import Series, SeriesFinder
from nic_metrics.interfaces import Signal, SignalReading, SignalReason
from nic_metrics.link_rate import LinkRate, parse_link_rate
from nic_metrics.nic_signal import Combine, NicSignal, combine_ports
from nic_metrics.ports import (
    DEFAULT_ROOT,
    CodedState,
    Port,
    PortId,
    PortInventory,
    SkippedDevice,
    SkipReason,
    list_ports,
    read_port,
)
from nic_metrics.provider import SourceLoad, SourceLoadProvider
from nic_metrics.sampler import PortSampler
from nic_metrics.scrape import MetricsText, MetricsUrl
from nic_metrics.scraper import ServingLoadScraper
from nic_metrics.serving_load import (
    DEFAULT_LOAD_METRICS,
    DEFAULT_PREFIXES,
    LoadMetric,
    LoadUnit,
    ServingLoad,
    ServingLoadReader,
    ServingLoadReason,
)
from nic_metrics.source_load import METRICS_URL_VARIABLE, make_source_load_provider
from nic_metrics.utilization import Direction, PortSample, UnknownReason, Utilization, measure, next_baseline

__all__ = [
    "BYTE_SOURCES",
    "DEFAULT_LOAD_METRICS",
    "DEFAULT_PREFIXES",
    "DEFAULT_ROOT",
    "METRICS_URL_VARIABLE",
    "Blend",
    "ByteSource",
    "CodedState",
    "Combine",
    "CounterSet",
    "CounterValue",
    "Direction",
    "ExpositionError",
    "ExpositionProblem",
    "LinkRate",
    "LinkRateError",
    "LinkRateProblem",
    "LoadMetric",
    "LoadUnit",
    "MetricsText",
    "MetricsUrl",
    "MetricsUrlError",
    "NicMetricsError",
    "NicSignal",
    "Port",
    "PortId",
    "PortIdError",
    "PortInventory",
    "PortSample",
    "PortSampler",
    "ScrapeError",
    "ScrapeProblem",
    "Series",
    "SeriesFinder",
    "ServingLoad",
    "ServingLoadReader",
    "ServingLoadReason",
    "ServingLoadScraper",
    "Signal",
    "SignalReading",
    "SignalReason",
    "SkipReason",
    "SkippedDevice",
    "SourceLoad",
    "SourceLoadProvider",
    "UnknownReason",
    "Utilization",
    "busiest",
    "busiest_known",
    "combine_ports",
    "list_ports",
    "make_source_load_provider",
    "measure",
    "next_baseline",
    "parse_link_rate",
    "read_port",
]
