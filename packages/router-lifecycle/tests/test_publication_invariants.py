"""Whatever happens in whatever order, the gate keeps its promises; judged by a record of what was really transferred to whom."""

from itertools import count

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from router_lifecycle.publication import EngineGeneration, EngineState, GateError, PublicationGate, WeightSnapshot

ENGINES = st.sampled_from(["e0", "e1", "e2"])
MODELS = {"e0": "actor", "e1": "actor", "e2": "critic"}
PICK = st.integers(0, 1_000)
ALLOWED = (EngineState.RELEASED, EngineState.ROUTABLE)


class GateMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.gate = PublicationGate(["actor", "critic"])
        self.ids = count()
        self.lives: list[EngineGeneration] = []
        self.newest: dict[str, EngineGeneration] = {}
        # Pairs of generation and marking: a generation that is withdrawn begins anew.
        self.marking: dict[str, int] = {}
        self.initial: set[str] = set()
        self.synchronised: set[tuple[str, int]] = set()
        self.transfers: list[tuple[WeightSnapshot, dict[str, int]]] = []
        self.any_snapshot: set[str] = set()
        self.quarantined: dict[str, int] = {}

    def new_life(self, engine: str) -> EngineGeneration:
        life = EngineGeneration(engine_id=engine, model=MODELS[engine], generation_id=str(next(self.ids)))
        self.lives.append(life)
        return life

    @rule(engine=ENGINES)
    def recover(self, engine: str) -> None:
        life = self.new_life(engine)
        self.gate.mark_pending(life)
        self.newest[engine] = life
        self.marking[life.generation_id] = next(self.ids)

    @rule(engine=ENGINES)
    def start_at_first(self, engine: str) -> None:
        is_first = engine not in {life.engine_id for life in self.lives} and MODELS[engine] not in self.any_snapshot
        life = self.new_life(engine)
        try:
            self.gate.admit(life)
        except GateError:
            assert not is_first
            return
        assert is_first
        self.newest[engine] = life
        self.initial.add(life.generation_id)
        self.marking[life.generation_id] = next(self.ids)

    @precondition(lambda self: self.lives)
    @rule(pick=PICK)
    def withdraw(self, pick: int) -> None:
        life = self.lives[pick % len(self.lives)]
        if self.gate.state_of(life) in (None, EngineState.QUARANTINED):
            return
        self.gate.mark_pending(life)
        self.initial.discard(life.generation_id)
        self.marking[life.generation_id] = next(self.ids)

    @rule(model=st.sampled_from(["actor", "critic"]))
    def begin_transfer(self, model: str) -> None:
        snapshot = self.gate.snapshot(model)
        self.any_snapshot.add(model)
        live = {life for life in self.newest.values() if life.model == model}
        live -= {life for life in live if life.generation_id in self.quarantined}
        assert set(snapshot.generations) == live
        self.transfers.append((snapshot, dict(self.marking)))

    @precondition(lambda self: self.transfers)
    @rule(pick=PICK)
    def transfer_succeeds(self, pick: int) -> None:
        snapshot, markings = self.transfers[pick % len(self.transfers)]
        before = {life: self.gate.state_of(life) for life in self.lives}
        for life in snapshot.generations:
            self.synchronised.add((life.generation_id, markings[life.generation_id]))
        released = self.gate.publish(snapshot)
        for life in self.lives:
            if life not in released:
                assert self.gate.state_of(life) is before[life]
        for life in released:
            assert before[life] is EngineState.PENDING
            assert life in snapshot.generations
            assert self.newest[life.engine_id] == life

    @precondition(lambda self: self.transfers)
    @rule(pick=PICK)
    def transfer_fails(self, pick: int) -> None:
        self.transfers.pop(pick % len(self.transfers))

    @precondition(lambda self: self.lives)
    @rule(pick=PICK, news=st.sampled_from(["registered", "timed out", "unknown", "stopped"]))
    def news_comes(self, pick: int, news: str) -> None:
        life = self.lives[pick % len(self.lives)]
        others = {other: self.gate.state_of(other) for other in self.lives if other != life}
        before = self.gate.state_of(life)
        if news == "registered":
            assert self.gate.registered(life) == (before is EngineState.RELEASED)
        elif news == "timed out":
            taken = self.gate.still_pending(life, reason="deadline")
            assert taken == (before is EngineState.RELEASED)
            assert not taken or self.gate.state_of(life) is EngineState.PENDING
        elif news == "unknown":
            taken = self.gate.quarantine(life, reason="unknown")
            self.quarantined[life.generation_id] = self.quarantined.get(life.generation_id, 0) + taken
            assert self.quarantined[life.generation_id] <= 1
            if not self.quarantined[life.generation_id]:
                del self.quarantined[life.generation_id]
        elif self.gate.discard(life):
            del self.newest[life.engine_id]
        assert {other: self.gate.state_of(other) for other in others} == others

    @rule()
    def the_driver_dies(self) -> None:
        known = {life: self.gate.state_of(life) for life in self.lives}
        self.gate = PublicationGate.from_json(self.gate.to_json())
        for life, state in known.items():
            expected = EngineState.PENDING if state is EngineState.RELEASED else state
            assert self.gate.state_of(life) is expected

    @invariant()
    def only_synchronised_generations_are_allowed(self) -> None:
        for life in self.lives:
            if self.gate.state_of(life) not in ALLOWED or life.generation_id in self.initial:
                continue
            assert (life.generation_id, self.marking[life.generation_id]) in self.synchronised

    @invariant()
    def only_the_newest_generation_of_an_engine_is_there(self) -> None:
        assert {entry.generation for entry in self.gate.engines} == set(self.newest.values())

    @invariant()
    def nothing_leaves_quarantine(self) -> None:
        for life in self.newest.values():
            if life.generation_id in self.quarantined:
                assert self.gate.state_of(life) is EngineState.QUARANTINED


TestGateMachine = GateMachine.TestCase
TestGateMachine.settings = settings(max_examples=60, stateful_step_count=40)
