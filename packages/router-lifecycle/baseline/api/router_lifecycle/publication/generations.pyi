from enum import StrEnum
from pydantic import BaseModel

class EngineGeneration(BaseModel, frozen=True, strict=True, extra='forbid'):
    engine_id: str
    model: str
    generation_id: str

class WeightSnapshot(BaseModel, frozen=True, strict=True, extra='forbid'):
    model: str
    generations: tuple[EngineGeneration, ...]
    taken_at: int

class EngineState(StrEnum):
    PENDING = 'pending'
    RELEASED = 'released'
    ROUTABLE = 'routable'
    QUARANTINED = 'quarantined'

class EngineEntry(BaseModel, frozen=True, extra='forbid'):
    generation: EngineGeneration
    state: EngineState
    marked_at: int
    must_wait: bool
    reason: str | None

class ModelEntry(BaseModel, frozen=True, extra='forbid'):
    snapshot_at: int
    published_at: int
    publications: int
    quarantines: int
    @property
    def is_transferring(self) -> bool: ...
