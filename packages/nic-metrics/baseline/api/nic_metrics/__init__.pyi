from nic_metrics.affinity import AffinityPolicy as AffinityPolicy, affinity_map as affinity_map
from nic_metrics.blend import Blend as Blend, LOOKS_IDLE_BELOW as LOOKS_IDLE_BELOW, greatest as greatest, greatest_known as greatest_known
from nic_metrics.choosing import choose_nics as choose_nics
from nic_metrics.combining import busiest as busiest, combine_rails as combine_rails
from nic_metrics.counters import BYTE_SOURCES as BYTE_SOURCES, ByteSource as ByteSource, CounterSet as CounterSet, NETLINK_SOURCES as NETLINK_SOURCES
from nic_metrics.errors import ExpositionError as ExpositionError, ExpositionProblem as ExpositionProblem, LinkRateError as LinkRateError, LinkRateProblem as LinkRateProblem, MetricsUrlError as MetricsUrlError, MissingExtraError as MissingExtraError, NicChoiceError as NicChoiceError, NicMetricsError as NicMetricsError, PciAddressError as PciAddressError, PortIdError as PortIdError, ScrapeError as ScrapeError, ScrapeProblem as ScrapeProblem
from nic_metrics.exposition import Series as Series, SeriesFinder as SeriesFinder
from nic_metrics.gpus import DEFAULT_PROC_ROOT as DEFAULT_PROC_ROOT, DriverGpu as DriverGpu, cuda_address as cuda_address, cuda_gpus as cuda_gpus, list_driver_gpus as list_driver_gpus, list_gpus as list_gpus
from nic_metrics.interfaces import CudaProperties as CudaProperties, PortStatistics as PortStatistics, Signal as Signal
from nic_metrics.link_rate import LinkRate as LinkRate, parse_link_rate as parse_link_rate
from nic_metrics.netlink import NetlinkStatistics as NetlinkStatistics, open_rdma_socket as open_rdma_socket
from nic_metrics.nic_choice import ChoiceOrigin as ChoiceOrigin, Combination as Combination, NicChoice as NicChoice, NoNicReason as NoNicReason, parse_nics as parse_nics
from nic_metrics.nic_signal import NicSignal as NicSignal, nic_signal as nic_signal
from nic_metrics.pci import DEFAULT_SYS_ROOT as DEFAULT_SYS_ROOT, PciDistance as PciDistance, PciPlace as PciPlace, normalize_pci_address as normalize_pci_address, pci_distance as pci_distance, read_pci_place as read_pci_place, shared_depth as shared_depth
from nic_metrics.ports import CodedState as CodedState, DEFAULT_ROOT as DEFAULT_ROOT, Port as Port, PortId as PortId, PortInventory as PortInventory, SkipReason as SkipReason, SkippedDevice as SkippedDevice, list_ports as list_ports, read_port as read_port
from nic_metrics.provider import SourceLoad as SourceLoad, SourceLoadProvider as SourceLoadProvider
from nic_metrics.sampler import ByteTotals as ByteTotals, PortSampler as PortSampler
from nic_metrics.scrape import MetricsText as MetricsText, MetricsUrl as MetricsUrl
from nic_metrics.scraper import ServingLoadScraper as ServingLoadScraper
from nic_metrics.serving_load import DEFAULT_LOAD_METRICS as DEFAULT_LOAD_METRICS, DEFAULT_PREFIXES as DEFAULT_PREFIXES, LoadMetric as LoadMetric, LoadUnit as LoadUnit, ServingLoad as ServingLoad, ServingLoadReader as ServingLoadReader, ServingLoadReason as ServingLoadReason
from nic_metrics.signals import SignalReading as SignalReading, SignalReason as SignalReason, UnknownSignal as UnknownSignal
from nic_metrics.source_load import METRICS_URL_VARIABLE as METRICS_URL_VARIABLE, make_source_load_provider as make_source_load_provider
from nic_metrics.topology import DEFAULT_DEV_ROOT as DEFAULT_DEV_ROOT, Nic as Nic, Topology as Topology, read_topology as read_topology
from nic_metrics.utilization import Direction as Direction, PortSample as PortSample, UnknownReason as UnknownReason, Utilization as Utilization, measure as measure, next_baseline as next_baseline

__all__ = ['AffinityPolicy', 'affinity_map', 'LOOKS_IDLE_BELOW', 'Blend', 'greatest', 'greatest_known', 'choose_nics', 'busiest', 'combine_rails', 'BYTE_SOURCES', 'NETLINK_SOURCES', 'ByteSource', 'CounterSet', 'ExpositionError', 'ExpositionProblem', 'LinkRateError', 'LinkRateProblem', 'MetricsUrlError', 'MissingExtraError', 'NicChoiceError', 'NicMetricsError', 'PciAddressError', 'PortIdError', 'ScrapeError', 'ScrapeProblem', 'Series', 'SeriesFinder', 'DEFAULT_PROC_ROOT', 'DriverGpu', 'cuda_address', 'cuda_gpus', 'list_driver_gpus', 'list_gpus', 'CudaProperties', 'PortStatistics', 'Signal', 'LinkRate', 'parse_link_rate', 'NetlinkStatistics', 'open_rdma_socket', 'ChoiceOrigin', 'Combination', 'NicChoice', 'NoNicReason', 'parse_nics', 'NicSignal', 'nic_signal', 'DEFAULT_SYS_ROOT', 'PciDistance', 'PciPlace', 'normalize_pci_address', 'pci_distance', 'read_pci_place', 'shared_depth', 'DEFAULT_ROOT', 'CodedState', 'Port', 'PortId', 'PortInventory', 'SkippedDevice', 'SkipReason', 'list_ports', 'read_port', 'SourceLoad', 'SourceLoadProvider', 'ByteTotals', 'PortSampler', 'MetricsText', 'MetricsUrl', 'ServingLoadScraper', 'DEFAULT_LOAD_METRICS', 'DEFAULT_PREFIXES', 'LoadMetric', 'LoadUnit', 'ServingLoad', 'ServingLoadReader', 'ServingLoadReason', 'SignalReading', 'SignalReason', 'UnknownSignal', 'METRICS_URL_VARIABLE', 'make_source_load_provider', 'DEFAULT_DEV_ROOT', 'Nic', 'Topology', 'read_topology', 'Direction', 'PortSample', 'UnknownReason', 'Utilization', 'measure', 'next_baseline']
