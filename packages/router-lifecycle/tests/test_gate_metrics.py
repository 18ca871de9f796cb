"""The gate at a scrape."""

from prometheus_client import CollectorRegistry

from router_lifecycle.publication import EngineGeneration, PublicationGate
from router_lifecycle.publication.prometheus import GateCollector


def test_a_scrape_shows_engines_by_state_and_what_happened_to_each_model() -> None:
    gate = PublicationGate(["actor"])
    registry = CollectorRegistry()
    registry.register(GateCollector(gate))

    def value(name: str, **labels: str) -> float | None:
        return registry.get_sample_value(f"router_lifecycle_gate_{name}", labels)

    assert value("engines", model="actor", state="pending") == 0
    assert value("publications_total", model="actor") == 0
    bad, good = (EngineGeneration(engine_id=name, model="actor") for name in ("e0", "e1"))
    gate.mark_pending(bad)
    gate.mark_pending(good)
    gate.admit(EngineGeneration(engine_id="r0", model="reference"))
    snapshot = gate.snapshot("actor")
    assert value("transferring", model="actor") == 1
    gate.publish(snapshot)
    gate.quarantine(bad, reason="failed")
    assert value("transferring", model="actor") == 0
    assert value("engines", model="actor", state="released") == 1
    assert value("engines", model="actor", state="quarantined") == 1
    assert value("engines", model="reference", state="released") == 1
    assert value("publications_total", model="actor") == 1
    assert value("quarantines_total", model="actor") == 1
    assert value("quarantines_total", model="reference") is None
