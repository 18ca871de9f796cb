"""What the gate knows an engine by, and what it keeps of it."""

from enum import StrEnum
from uuid import uuid4

from pydantic import BaseModel, Field


def _new_id() -> str:
    return uuid4().hex


class EngineGeneration(BaseModel, frozen=True, strict=True, extra="forbid"):
    """One life of one engine: from a start to the end of its processes, on all its nodes.

    An engine of several nodes is one engine and has one generation at a time; its URL is that of the node with rank 0.

    Attributes:
        engine_id: The trainer's name of the engine, the same through all its lives and in one gate only once.
        model: The model that it serves, as the trainer calls it.
        generation_id: Never used twice; a random one by default.
    """

    engine_id: str = Field(min_length=1)
    model: str = Field(min_length=1)
    generation_id: str = Field(default_factory=_new_id, min_length=1)

    def __str__(self) -> str:
        return f"{self.engine_id} (model {self.model}, generation {self.generation_id[:8]})"


class WeightSnapshot(BaseModel, frozen=True, strict=True, extra="forbid"):
    """The engines of one transfer of weights, fixed before it begins.

    Attributes:
        model: Whose weights are transferred.
        generations: To whom; give the transfer these engines and no others.
        taken_at: Place in the gate's order of events; what was marked pending later isn't covered.
    """

    model: str
    generations: tuple[EngineGeneration, ...]
    taken_at: int


class EngineState(StrEnum):
    """What the gate says of a generation."""

    PENDING = "pending"
    """It must not be registered: no transfer that is known to have succeeded included it, or its registration isn't certain."""
    RELEASED = "released"
    """It may be registered, and whoever asked does that now."""
    ROUTABLE = "routable"
    """Its registration is confirmed."""
    QUARANTINED = "quarantined"
    """Nobody knows what the router made of it; it is stopped and never registered again."""


class EngineEntry(BaseModel, frozen=True, extra="forbid"):
    """What the gate keeps of an engine.

    Attributes:
        generation: Its present life.
        state: What may be done with it.
        marked_at: Place in the gate's order of events of its entry, or of the last time it was marked pending.
        must_wait: Whether only a transfer releases it; False for initial and frozen engines.
        reason: Why it is pending or quarantined, for people, or None.
    """

    generation: EngineGeneration
    state: EngineState
    marked_at: int
    must_wait: bool
    reason: str | None = None


class ModelEntry(BaseModel, frozen=True, extra="forbid"):
    """What the gate keeps of an updatable model.

    Attributes:
        snapshot_at: Place in the order of events of the last snapshot, 0 before the first.
        published_at: `taken_at` of the newest snapshot that was published, 0 before the first.
        publications: How many snapshots were published.
        quarantines: How many generations were quarantined.
    """

    snapshot_at: int = 0
    published_at: int = 0
    publications: int = 0
    quarantines: int = 0

    @property
    def is_transferring(self) -> bool:
        """Whether a snapshot was taken that isn't published: its transfer runs, or has failed."""
        return self.snapshot_at > self.published_at
