import os
from collections.abc import Callable as Callable, Iterator, Mapping
from nic_metrics import prometheus as prometheus
from nic_metrics.ports import PortId as PortId, read_port as read_port
from nic_metrics.prometheus import MetricFamily as MetricFamily, SignalLoad as SignalLoad
from nic_metrics.sampler import PortSampler as PortSampler
from nic_metrics.utilization import UnknownReason as UnknownReason, Utilization as Utilization
from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric as Metric
from prometheus_client.registry import Collector

class PortCollector(Collector):
    def __init__(self, ports: tuple[PortId, ...], root: str | os.PathLike[str], source_load: Callable[[], Mapping[str, SignalLoad]] | None, clock: Callable[[], float]) -> None: ...
    def collect(self) -> Iterator[Metric]: ...

def registry_of(collector: Collector) -> CollectorRegistry: ...
