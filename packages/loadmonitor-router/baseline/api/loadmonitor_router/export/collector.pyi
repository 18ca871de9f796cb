from collections.abc import Callable as Callable, Iterator
from loadmonitor_router.age import Freshness as Freshness
from loadmonitor_router.connection import ConnectionState as ConnectionState
from loadmonitor_router.errors import ConfigError as ConfigError, DropReason as DropReason
from loadmonitor_router.export import metrics as metrics
from loadmonitor_router.export.metrics import EngineMetrics as EngineMetrics, Family as Family
from loadmonitor_router.reports import RankLoad as RankLoad
from loadmonitor_router.snapshot import FleetSnapshot as FleetSnapshot, WorkerLoad as WorkerLoad
from loadmonitor_router.stats import Histogram as Histogram, MonitorStats as MonitorStats, ReconnectReason as ReconnectReason
from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric as Metric
from prometheus_client.registry import Collector

class FleetCollector(Collector):
    def __init__(self, snapshot: Callable[[], FleetSnapshot], stats: Callable[[], MonitorStats], *, router_id: str | None = None, engine_metrics: EngineMetrics = ...) -> None: ...
    def collect(self) -> Iterator[Metric]: ...

def make_registry(collector: Collector) -> CollectorRegistry: ...
