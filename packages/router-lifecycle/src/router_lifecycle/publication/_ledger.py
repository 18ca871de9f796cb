"""What a gate has written down: each engine's present generation, each updatable model's transfers, and their order."""

from collections.abc import Collection, Iterable
from typing import Self

from pydantic import BaseModel

from router_lifecycle.publication.errors import GateError
from router_lifecycle.publication.generations import EngineEntry, EngineGeneration, EngineState, ModelEntry


class GateLedger(BaseModel, extra="forbid"):
    """All that a gate knows; serialisable. It follows no rules: the gate does.

    Attributes:
        order: Number of the last thing that happened.
        models: The updatable models, by name.
        engines: The present generation of each engine, by engine id.
        known_engines: Every engine that ever had a generation.
    """

    order: int = 0
    models: dict[str, ModelEntry]
    engines: dict[str, EngineEntry] = {}
    known_engines: set[str] = set()

    @classmethod
    def of(cls, updatable_models: Iterable[str]) -> Self:
        """Return the ledger of a gate without engines."""
        return cls(models={model: ModelEntry() for model in updatable_models})

    def sorted_engines(self) -> tuple[EngineEntry, ...]:
        """Return the entries by model and engine id."""
        entries = self.engines.values()
        return tuple(sorted(entries, key=lambda entry: (entry.generation.model, entry.generation.engine_id)))

    def present(self, generation: EngineGeneration) -> EngineEntry | None:
        """Return the entry of a generation, or None when it isn't the present one of its engine."""
        entry = self.engines.get(generation.engine_id)
        return entry if entry is not None and entry.generation == generation else None

    def updatable(self, model: str) -> ModelEntry:
        """Return the record of a model.

        Raises:
            GateError: It isn't updatable.
        """
        record = self.models.get(model)
        if record is None:
            raise GateError(f"model {model!r} is frozen: updatable are {sorted(self.models)}")
        return record

    def in_transfer(self, model: str, engine_ids: Collection[str] | None) -> tuple[EngineGeneration, ...]:
        """Return the generations that a transfer of a model goes to: those that aren't in quarantine.

        Raises:
            GateError: The model isn't updatable, or an id names no such engine.
        """
        self.updatable(model)
        found = {
            entry.generation.engine_id: entry.generation
            for entry in self.sorted_engines()
            if entry.generation.model == model and entry.state is not EngineState.QUARANTINED
        }
        if engine_ids is None:
            return tuple(found.values())
        unknown = sorted(set(engine_ids) - found.keys())
        if unknown:
            raise GateError(f"engines {unknown} can't be in a transfer of model {model!r}: it has {sorted(found)}")
        return tuple(found[engine_id] for engine_id in found if engine_id in engine_ids)

    def enter(self, generation: EngineGeneration, state: EngineState, *, must_wait: bool, reason: str | None) -> None:
        """Make a generation the present one of its engine."""
        self.known_engines.add(generation.engine_id)
        self.engines[generation.engine_id] = EngineEntry(
            generation=generation, state=state, marked_at=self.next(), must_wait=must_wait, reason=reason
        )

    def set(self, entry: EngineEntry, state: EngineState, *, reason: str | None = None) -> None:
        """Change the state of a present generation."""
        self.engines[entry.generation.engine_id] = entry.model_copy(update={"state": state, "reason": reason})

    def set_model(self, model: str, **changes: int) -> None:
        """Change the record of an updatable model."""
        self.models[model] = self.models[model].model_copy(update=changes)

    def next(self) -> int:
        """Return the number of what happens now."""
        self.order += 1
        return self.order
