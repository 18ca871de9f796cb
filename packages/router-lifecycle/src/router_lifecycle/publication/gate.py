"""The gate: which generation of an engine may be registered at the router, and since when. Pure: no clock, no I/O.

A recovered engine serves the weights of its checkpoint. It may become routable only after a transfer of weights that included it
has succeeded. The order that makes this certain:

    snapshot = gate.snapshot(model)      # together with the engine list of the transfer
    ...transfer to snapshot.generations; when it fails, stop here: nothing was published
    for generation in gate.publish(snapshot):
        ...register it; then gate.registered, gate.still_pending or gate.quarantine
"""

from collections.abc import Collection, Iterable
from typing import Self

from router_lifecycle.publication import _view
from router_lifecycle.publication._ledger import GateLedger
from router_lifecycle.publication.errors import GateError
from router_lifecycle.publication.events import GateEvent, GateEventKind, GateEventListener
from router_lifecycle.publication.generations import (
    EngineEntry,
    EngineGeneration,
    EngineState,
    ModelEntry,
    WeightSnapshot,
)


class PublicationGate:
    """Holds back recovered engines of updatable models until their weights are synchronised.

    Not safe for threads: use it in one. `to_json` after each change, and `from_json` in the next process, and it survives the driver.
    """

    def __init__(self, updatable_models: Iterable[str], *, on_event: GateEventListener | None = None) -> None:
        """Open a gate without engines.

        Args:
            updatable_models: The models whose weights the trainer transfers; every other model is frozen.
            on_event: Told what happens.
        """
        self._ledger = GateLedger.of(updatable_models)
        self._on_event = on_event

    @classmethod
    def from_json(cls, text: str, *, on_event: GateEventListener | None = None) -> Self:
        """Return the gate that `to_json` described.

        A registration that was under way ended with the process that ran it: such a generation is pending and is released again by
        the next publication.

        Raises:
            pydantic.ValidationError: The text describes no gate.
        """
        gate = cls((), on_event=on_event)
        gate._ledger = GateLedger.model_validate_json(text)
        for entry in gate.engines:
            if entry.state is EngineState.RELEASED:
                gate._ledger.set(entry, EngineState.PENDING, reason="its registration was interrupted")
        return gate

    def to_json(self) -> str:
        """Return all that the gate knows; it holds no secrets."""
        return self._ledger.model_dump_json()

    @property
    def engines(self) -> tuple[EngineEntry, ...]:
        """What is known of each engine, by model and engine id."""
        return self._ledger.sorted_engines()

    @property
    def models(self) -> dict[str, ModelEntry]:
        """What is known of each updatable model, by name."""
        return dict(sorted(self._ledger.models.items()))

    def state_of(self, generation: EngineGeneration) -> EngineState | None:
        """Return the state of a generation, or None when it isn't the present one of its engine."""
        entry = self._ledger.present(generation)
        return entry.state if entry else None

    def admit(self, generation: EngineGeneration) -> None:
        """Release a generation at once: of a frozen model, or at initial start-up, which ends with the model's first snapshot.

        Raises:
            GateError: It is a replacement, comes after the first snapshot, was marked pending, or is in quarantine.
        """
        engine_id, entry = generation.engine_id, self._ledger.present(generation)
        if entry is not None and entry.state is not EngineState.PENDING:
            raise GateError(f"{generation} is {entry.state} already: a generation is admitted once")
        model = self._ledger.models.get(generation.model)
        if model is not None:
            recovered = engine_id in self._ledger.known_engines and (entry is None or entry.must_wait)
            if recovered or model.snapshot_at:
                why = "it is no first life of its engine" if recovered else "a transfer of its model has begun"
                raise GateError(f"{generation} can't be admitted, {why}: mark it pending and publish a transfer")
        self._enter(generation, EngineState.RELEASED, must_wait=False, kind="admitted")

    def mark_pending(self, generation: EngineGeneration, *, reason: str | None = None) -> None:
        """Hold a generation back until a snapshot that is taken from now on is published.

        It takes the place of an earlier generation of the engine. For the present one it withdraws what was allowed before.

        Raises:
            GateError: Its model is frozen, so that nothing would ever release it; or it is in quarantine.
        """
        self._ledger.updatable(generation.model)
        entry = self._ledger.present(generation)
        if entry is not None and entry.state is EngineState.QUARANTINED:
            raise GateError(f"{generation} is in quarantine: start the engine again as a new generation")
        self._enter(generation, EngineState.PENDING, must_wait=True, kind="pending", reason=reason)

    def snapshot(self, model: str, *, engine_ids: Collection[str] | None = None) -> WeightSnapshot:
        """Fix the engines of a transfer that is about to begin: all of the model that aren't in quarantine.

        Args:
            model: An updatable model.
            engine_ids: Only these, for a transfer to some; None for all.

        Raises:
            GateError: The model is frozen or unknown, or an id names no such engine.
        """
        generations = self._ledger.in_transfer(model, engine_ids)
        taken_at = self._ledger.next()
        self._ledger.set_model(model, snapshot_at=taken_at)
        return WeightSnapshot(model=model, generations=generations, taken_at=taken_at)

    def publish(self, snapshot: WeightSnapshot) -> tuple[EngineGeneration, ...]:
        """Note that the transfer of a snapshot succeeded, and return the generations that are to be registered now.

        These are the pending ones that the transfer included. One that is being registered already isn't returned again.

        Raises:
            GateError: The snapshot is none of this gate.
        """
        record = self._ledger.updatable(snapshot.model)
        if not 0 < snapshot.taken_at <= record.snapshot_at:
            raise GateError(f"the snapshot of model {snapshot.model!r} was taken by another gate: take one of this")
        self._ledger.set_model(
            snapshot.model,
            published_at=max(record.published_at, snapshot.taken_at),
            publications=record.publications + 1,
        )
        released = []
        for generation in snapshot.generations:
            entry = self._ledger.present(generation)
            is_waiting = entry is not None and entry.state is EngineState.PENDING
            if entry is not None and is_waiting and entry.marked_at < snapshot.taken_at:
                self._ledger.set(entry, EngineState.RELEASED)
                released.append(generation)
        for generation in released:
            self._tell("released", generation)
        return tuple(released)

    def readmit(self, generation: EngineGeneration) -> bool:
        """Release a pending generation that the caller knows to hold the published weights, as `GatedFleet.rejoin` does.

        Returns:
            False when it has to wait, since a transfer of its model runs or has failed, and the weights may change under it.

        Raises:
            GateError: It isn't pending.
        """
        record, entry = self._ledger.updatable(generation.model), self._ledger.present(generation)
        if entry is None or entry.state is not EngineState.PENDING:
            state = "not the engine's present generation" if entry is None else entry.state
            raise GateError(f"{generation} can't be readmitted, it is {state}: only a pending generation is")
        if record.is_transferring:
            return False
        self._ledger.set(entry, EngineState.RELEASED)
        self._tell("readmitted", generation)
        return True

    def registered(self, generation: EngineGeneration) -> bool:
        """Note that a released generation is routable.

        Returns:
            False when it isn't the engine's present one any more, or is released no longer: then it has to be removed again.
        """
        return self._settle(generation, EngineState.ROUTABLE, "routable", None)

    def still_pending(self, generation: EngineGeneration, *, reason: str) -> bool:
        """Note that a released generation isn't routable for now: the next publication that includes it releases it again.

        Returns:
            False when it isn't the engine's present one any more, or is released no longer.
        """
        return self._settle(generation, EngineState.PENDING, "pending", reason)

    def quarantine(self, generation: EngineGeneration, *, reason: str) -> bool:
        """Never let a generation be registered again; whoever gets True stops the whole engine.

        Returns:
            False when it was in quarantine already, or isn't the engine's present one any more.
        """
        entry = self._ledger.present(generation)
        if entry is None or entry.state is EngineState.QUARANTINED:
            if entry is None:
                self._tell("superseded", generation, reason)
            return False
        self._ledger.set(entry, EngineState.QUARANTINED, reason=reason)
        record = self._ledger.models.get(generation.model)
        if record is not None:
            self._ledger.set_model(generation.model, quarantines=record.quarantines + 1)
        self._tell("quarantined", generation, reason)
        return True

    def discard(self, generation: EngineGeneration) -> bool:
        """Forget a generation that was stopped; its engine stays known, so that the next life of it has to wait.

        Returns:
            False when it isn't the engine's present one: a newer one is left alone.
        """
        if self._ledger.present(generation) is None:
            return False
        del self._ledger.engines[generation.engine_id]
        self._tell("discarded", generation)
        return True

    def table(self) -> str:
        """Return the engines as a table for people, one line each."""
        return _view.table(self.engines)

    def as_dict(self) -> dict[str, int]:
        """Return counts for a trainer's log, once per step: `publication/MODEL/pending` and the like."""
        return _view.counts(self.engines, self.models)

    def _enter(
        self,
        generation: EngineGeneration,
        state: EngineState,
        *,
        must_wait: bool,
        kind: GateEventKind,
        reason: str | None = None,
    ) -> None:
        self._ledger.enter(generation, state, must_wait=must_wait, reason=reason)
        self._tell(kind, generation, reason)

    def _settle(
        self, generation: EngineGeneration, state: EngineState, kind: GateEventKind, reason: str | None
    ) -> bool:
        entry = self._ledger.present(generation)
        if entry is None or entry.state is not EngineState.RELEASED:
            self._tell("superseded", generation, reason)
            return False
        self._ledger.set(entry, state, reason=reason)
        self._tell(kind, generation, reason)
        return True

    def _tell(self, kind: GateEventKind, generation: EngineGeneration, detail: str | None = None) -> None:
        if self._on_event is not None:
            self._on_event(GateEvent(kind, generation, detail))
