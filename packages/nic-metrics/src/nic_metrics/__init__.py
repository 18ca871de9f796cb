"""What RDMA NICs say of themselves: ports, link rate, byte counters, and how busy a port was between two samples.

`list_ports` finds them, `PortSampler` measures them, `measure` is the arithmetic alone. `read_topology` and `choose_nics` tell
which ports belong to a GPU's transfers. `ServingLoadReader` tells how full an engine is, and `make_source_load_provider` blends both
to the one load that a weight source publishes.
"""

from nic_metrics.affinity import AffinityPolicy, affinity_map
from nic_metrics.blend import LOOKS_IDLE_BELOW, Blend, greatest, greatest_known
from nic_metrics.choosing import choose_nics
from nic_metrics.combining import busiest, combine_rails
from nic_metrics.counters import BYTE_SOURCES, NETLINK_SOURCES, ByteSource, CounterSet
from nic_metrics.errors import (
    ExpositionError,
    ExpositionProblem,
    LinkRateError,
    LinkRateProblem,
    MetricsUrlError,
    MissingExtraError,
    NicChoiceError,
    NicMetricsError,
    PciAddressError,
    PortIdError,
    ScrapeError,
    ScrapeProblem,
)
from nic_metrics.exposition import Series, SeriesFinder
from nic_metrics.gpus import DEFAULT_PROC_ROOT, DriverGpu, cuda_address, cuda_gpus, list_driver_gpus, list_gpus
from nic_metrics.interfaces import CudaProperties, PortStatistics, Signal
from nic_metrics.link_rate import LinkRate, parse_link_rate
from nic_metrics.netlink import NetlinkStatistics, open_rdma_socket
from nic_metrics.nic_choice import ChoiceOrigin, Combination, NicChoice, NoNicReason, parse_nics
from nic_metrics.nic_signal import NicSignal, nic_signal
from nic_metrics.pci import (
    DEFAULT_SYS_ROOT,
    PciDistance,
    PciPlace,
    normalize_pci_address,
    pci_distance,
    read_pci_place,
    shared_depth,
)
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
from nic_metrics.sampler import ByteTotals, PortSampler
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
from nic_metrics.signals import SignalReading, SignalReason, UnknownSignal
from nic_metrics.source_load import METRICS_URL_VARIABLE, make_source_load_provider
from nic_metrics.topology import DEFAULT_DEV_ROOT, Nic, Topology, read_topology
from nic_metrics.utilization import Direction, PortSample, UnknownReason, Utilization, measure, next_baseline

__all__ = [
    "BYTE_SOURCES",
    "DEFAULT_DEV_ROOT",
    "DEFAULT_LOAD_METRICS",
    "DEFAULT_PREFIXES",
    "DEFAULT_PROC_ROOT",
    "DEFAULT_ROOT",
    "DEFAULT_SYS_ROOT",
    "LOOKS_IDLE_BELOW",
    "METRICS_URL_VARIABLE",
    "NETLINK_SOURCES",
    "AffinityPolicy",
    "Blend",
    "ByteSource",
    "ByteTotals",
    "ChoiceOrigin",
    "CodedState",
    "Combination",
    "CounterSet",
    "CudaProperties",
    "Direction",
    "DriverGpu",
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
    "MissingExtraError",
    "NetlinkStatistics",
    "Nic",
    "NicChoice",
    "NicChoiceError",
    "NicMetricsError",
    "NicSignal",
    "NoNicReason",
    "PciAddressError",
    "PciDistance",
    "PciPlace",
    "Port",
    "PortId",
    "PortIdError",
    "PortInventory",
    "PortSample",
    "PortSampler",
    "PortStatistics",
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
    "Topology",
    "UnknownReason",
    "UnknownSignal",
    "Utilization",
    "affinity_map",
    "busiest",
    "choose_nics",
    "combine_rails",
    "cuda_address",
    "cuda_gpus",
    "greatest",
    "greatest_known",
    "list_driver_gpus",
    "list_gpus",
    "list_ports",
    "make_source_load_provider",
    "measure",
    "next_baseline",
    "nic_signal",
    "normalize_pci_address",
    "open_rdma_socket",
    "parse_link_rate",
    "parse_nics",
    "pci_distance",
    "read_pci_place",
    "read_port",
    "read_topology",
    "shared_depth",
]
