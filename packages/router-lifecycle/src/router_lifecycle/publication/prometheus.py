"""A gate in Prometheus' words; needs the extra `prometheus`."""

from collections import Counter
from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from router_lifecycle.publication.gate import PublicationGate
from router_lifecycle.publication.generations import EngineState


class GateCollector(Collector):
    """Shows a gate to a registry: `REGISTRY.register(GateCollector(gate))`. It reads the gate at each scrape."""

    def __init__(self, gate: PublicationGate) -> None:
        """Take the gate."""
        self._gate = gate

    def collect(self) -> Iterator[Metric]:
        """Yield the engines of each model in each state, and what happened to each updatable model."""
        engines = GaugeMetricFamily(
            "router_lifecycle_gate_engines", "Engines, by model and state at the gate.", labels=("model", "state")
        )
        models = self._gate.models
        states = Counter((entry.generation.model, entry.state) for entry in self._gate.engines)
        for model in sorted({*models, *(model for model, _ in states)}):
            for state in EngineState:
                engines.add_metric((model, state), states[model, state])
        yield engines
        publications = CounterMetricFamily(
            "router_lifecycle_gate_publications", "Transfers of weights that were published.", labels=("model",)
        )
        quarantines = CounterMetricFamily(
            "router_lifecycle_gate_quarantines", "Generations that were quarantined.", labels=("model",)
        )
        transferring = GaugeMetricFamily(
            "router_lifecycle_gate_transferring",
            "Whether a snapshot was taken that isn't published: its transfer runs, or has failed.",
            labels=("model",),
        )
        for model, record in models.items():
            publications.add_metric((model,), record.publications)
            quarantines.add_metric((model,), record.quarantines)
            transferring.add_metric((model,), record.is_transferring)
        yield publications
        yield quarantines
        yield transferring
