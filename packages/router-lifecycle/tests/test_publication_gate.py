"""The gate, rule by rule; `test_publication_invariants` looks for an order of events that breaks one."""

import pytest

from router_lifecycle.publication import EngineGeneration, EngineState, GateError, GateEvent, PublicationGate


def life(engine: str = "e0", model: str = "actor") -> EngineGeneration:
    return EngineGeneration(engine_id=engine, model=model)


def gate_with(*waiting: EngineGeneration) -> PublicationGate:
    gate = PublicationGate(["actor", "critic"])
    for generation in waiting:
        gate.mark_pending(generation)
    return gate


def test_a_recovered_generation_is_released_by_the_transfer_that_included_it() -> None:
    recovered = life()
    gate = gate_with(recovered)
    assert gate.state_of(recovered) is EngineState.PENDING
    assert gate.publish(gate.snapshot("actor")) == (recovered,)
    assert gate.registered(recovered)
    assert gate.state_of(recovered) is EngineState.ROUTABLE


def test_a_failed_transfer_publishes_nothing() -> None:
    recovered = life()
    gate = gate_with(recovered)
    gate.snapshot("actor")
    assert gate.state_of(recovered) is EngineState.PENDING
    assert gate.models["actor"].is_transferring


def test_a_replacement_after_the_snapshot_waits_for_the_next() -> None:
    first, second, other = life(), life(), life("e1")
    gate = gate_with(first, other)
    snapshot = gate.snapshot("actor")
    gate.mark_pending(second)
    assert gate.publish(snapshot) == (other,)
    assert gate.state_of(second) is EngineState.PENDING
    assert gate.publish(gate.snapshot("actor")) == (second,)


def test_a_generation_that_was_marked_pending_after_the_snapshot_waits_although_the_snapshot_names_it() -> None:
    same = life()
    gate = gate_with(same)
    snapshot = gate.snapshot("actor")
    gate.mark_pending(same)
    assert gate.publish(snapshot) == ()


def test_a_late_registration_never_clears_a_newer_generation() -> None:
    old, new = life(), life()
    gate = gate_with(old)
    gate.publish(gate.snapshot("actor"))
    gate.mark_pending(new)
    assert not gate.registered(old)
    assert gate.state_of(new) is EngineState.PENDING
    assert not gate.quarantine(old, reason="late")
    assert not gate.discard(old)
    assert gate.state_of(new) is EngineState.PENDING


def test_a_registration_that_was_withdrawn_meanwhile_does_not_make_it_routable() -> None:
    same = life()
    gate = gate_with(same)
    gate.publish(gate.snapshot("actor"))
    gate.mark_pending(same)
    assert not gate.registered(same)
    assert gate.state_of(same) is EngineState.PENDING


def test_a_generation_is_quarantined_once_and_the_others_are_untouched() -> None:
    bad, good = life("e0"), life("e1")
    gate = gate_with(bad, good)
    gate.publish(gate.snapshot("actor"))
    assert gate.quarantine(bad, reason="submission unknown")
    assert not gate.quarantine(bad, reason="again")
    assert gate.state_of(good) is EngineState.RELEASED
    assert gate.models["actor"].quarantines == 1
    assert gate.snapshot("actor").generations == (good,)
    assert gate.publish(gate.snapshot("actor")) == ()
    with pytest.raises(GateError, match="in quarantine"):
        gate.mark_pending(bad)


def test_a_time_out_leaves_it_pending_and_the_next_publication_tries_again() -> None:
    slow = life()
    gate = gate_with(slow)
    gate.publish(gate.snapshot("actor"))
    assert gate.still_pending(slow, reason="deadline passed")
    assert gate.state_of(slow) is EngineState.PENDING
    assert gate.publish(gate.snapshot("actor")) == (slow,)


def test_a_registration_under_way_is_not_started_twice() -> None:
    slow = life()
    gate = gate_with(slow)
    snapshot = gate.snapshot("actor")
    assert gate.publish(snapshot) == (slow,)
    assert gate.publish(snapshot) == ()
    assert gate.publish(gate.snapshot("actor")) == ()


def test_publication_is_kept_per_model() -> None:
    actor, critic = life("e0"), life("e1", "critic")
    gate = gate_with(actor, critic)
    assert gate.publish(gate.snapshot("actor")) == (actor,)
    assert gate.state_of(critic) is EngineState.PENDING
    assert gate.models["critic"].publications == 0


def test_initial_engines_and_frozen_models_register_at_once() -> None:
    gate = PublicationGate(["actor"])
    initial, frozen = life(), life("ref0", "reference")
    gate.admit(initial)
    gate.admit(frozen)
    assert gate.state_of(initial) is gate.state_of(frozen) is EngineState.RELEASED
    gate.registered(frozen)
    recovered = life("ref0", "reference")
    gate.admit(recovered)
    assert gate.state_of(recovered) is EngineState.RELEASED


def test_a_recovered_updatable_engine_is_not_admitted() -> None:
    gate = PublicationGate(["actor"])
    initial = life()
    gate.admit(initial)
    gate.discard(initial)
    with pytest.raises(GateError, match="no first life"):
        gate.admit(life())


def test_an_engine_that_was_marked_pending_is_not_admitted() -> None:
    recovered = life()
    gate = gate_with(recovered)
    with pytest.raises(GateError, match="no first life"):
        gate.admit(recovered)


def test_initial_start_up_ends_with_the_first_snapshot() -> None:
    gate = PublicationGate(["actor"])
    gate.snapshot("actor")
    with pytest.raises(GateError, match="a transfer of its model has begun"):
        gate.admit(life())


def test_an_initial_registration_that_timed_out_may_be_tried_again_before_the_first_transfer() -> None:
    gate = PublicationGate(["actor"])
    initial = life()
    gate.admit(initial)
    with pytest.raises(GateError, match="released already"):
        gate.admit(initial)
    gate.still_pending(initial, reason="deadline passed")
    gate.admit(initial)
    assert gate.state_of(initial) is EngineState.RELEASED


def test_a_frozen_model_has_nothing_to_wait_for() -> None:
    gate = PublicationGate(["actor"])
    for refused in (lambda: gate.mark_pending(life(model="reference")), lambda: gate.snapshot("reference")):
        with pytest.raises(GateError, match=r"'reference' is frozen: updatable are \['actor'\]"):
            refused()


def test_a_snapshot_of_some_engines_releases_only_these() -> None:
    one, two = life("e0"), life("e1")
    gate = gate_with(one, two)
    assert gate.publish(gate.snapshot("actor", engine_ids=["e1"])) == (two,)
    assert gate.state_of(one) is EngineState.PENDING
    with pytest.raises(GateError, match="e9"):
        gate.snapshot("actor", engine_ids=["e9"])


def test_a_snapshot_of_another_gate_is_refused() -> None:
    theirs = gate_with(life()).snapshot("actor")
    with pytest.raises(GateError, match="another gate"):
        PublicationGate(["actor"]).publish(theirs)


def test_an_engine_is_readmitted_only_while_no_transfer_is_open() -> None:
    back = life()
    gate = gate_with()
    open_transfer = gate.snapshot("actor")
    gate.mark_pending(back)
    assert not gate.readmit(back)
    assert gate.state_of(back) is EngineState.PENDING
    gate.publish(open_transfer)
    assert gate.readmit(back)
    assert gate.state_of(back) is EngineState.RELEASED
    with pytest.raises(GateError, match="released"):
        gate.readmit(back)


def test_the_gate_survives_the_driver() -> None:
    released, waiting, routable = life("e0"), life("e1"), life("e2")
    gate = gate_with(released, routable)
    snapshot = gate.snapshot("actor")
    gate.publish(snapshot)
    gate.registered(routable)
    gate.mark_pending(waiting)
    later = PublicationGate.from_json(gate.to_json())
    assert later.state_of(routable) is EngineState.ROUTABLE
    assert later.state_of(waiting) is EngineState.PENDING
    # Whoever registered it is gone: it is pending, and its handle tells how far that came.
    assert later.state_of(released) is EngineState.PENDING
    assert later.publish(snapshot) == (released,)


def test_events_tell_what_happened_and_of_news_that_came_too_late() -> None:
    events: list[GateEvent] = []
    gate = PublicationGate(["actor"], on_event=events.append)
    old, new = life(), life()
    gate.admit(old)
    gate.mark_pending(new, reason="engine died")
    gate.registered(old)
    gate.publish(gate.snapshot("actor"))
    gate.registered(new)
    gate.quarantine(new, reason="failed")
    gate.discard(new)
    assert [(event.kind, event.generation) for event in events] == [
        ("admitted", old),
        ("pending", new),
        ("superseded", old),
        ("released", new),
        ("routable", new),
        ("quarantined", new),
        ("discarded", new),
    ]
    assert events[1].detail == "engine died"


def test_table_and_counts_show_each_engine_and_each_model() -> None:
    gate = PublicationGate(["actor"])
    gate.mark_pending(EngineGeneration(engine_id="e0", model="actor", generation_id="0123456789"), reason="engine died")
    gate.admit(EngineGeneration(engine_id="ref", model="reference", generation_id="g"))
    assert gate.table().splitlines() == [
        "MODEL      ENGINE  GENERATION  STATE     REASON",
        "actor      e0      01234567    pending   engine died",
        "reference  ref     g           released  -",
    ]
    counts = gate.as_dict()
    assert counts["publication/actor/pending"] == 1
    assert counts["publication/reference/released"] == 1
    assert counts["publication/actor/publications"] == 0
    assert "publication/reference/publications" not in counts
