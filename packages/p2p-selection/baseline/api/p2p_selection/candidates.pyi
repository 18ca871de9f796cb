from collections.abc import Mapping
from dataclasses import dataclass, field

SourceKey = tuple[str, str, int]
UNKNOWN_LOAD: float

@dataclass(frozen=True, slots=True)
class Target:
    model_name: str
    worker_id: str
    worker_rank: int
    endpoint: str | None = ...
    accelerator: str = ...
    topology: Mapping[str, str] = field(default_factory=dict, hash=False)

@dataclass(frozen=True, slots=True)
class Candidate:
    mx_source_id: str
    worker_id: str
    worker_rank: int
    source_load: float | None = ...
    topology: Mapping[str, str] = field(default_factory=dict, hash=False)
    updated_at_ms: int | None = ...
    endpoint: str | None = ...
    accelerator: str = ...
    status: str = ...
    @property
    def key(self) -> SourceKey: ...

def known_load(source_load: float | None) -> float | None: ...
