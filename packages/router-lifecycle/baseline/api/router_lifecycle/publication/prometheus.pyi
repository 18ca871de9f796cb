from collections.abc import Iterator
from prometheus_client.core import Metric as Metric
from prometheus_client.registry import Collector
from router_lifecycle.publication.gate import PublicationGate as PublicationGate
from router_lifecycle.publication.generations import EngineState as EngineState

class GateCollector(Collector):
    def __init__(self, gate: PublicationGate) -> None: ...
    def collect(self) -> Iterator[Metric]: ...
