from collections.abc import Iterator
from loadmonitor_worker import metrics as metrics
from loadmonitor_worker.measurements import Histogram as Histogram
from loadmonitor_worker.metrics import MetricFamily as MetricFamily
from loadmonitor_worker.reporter import LoadReporter as LoadReporter
from loadmonitor_worker.state import WorkerState as WorkerState
from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric as Metric
from prometheus_client.registry import Collector

class ReporterCollector(Collector):
    def __init__(self, reporter: LoadReporter) -> None: ...
    def collect(self) -> Iterator[Metric]: ...

def registry_of(collector: Collector) -> CollectorRegistry: ...
