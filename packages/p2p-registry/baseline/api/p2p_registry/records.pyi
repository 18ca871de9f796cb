from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

class SourceStatus(IntEnum):
    UNKNOWN = 0
    INITIALIZING = 1
    READY = 2
    STALE = 3

@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerKey:
    source_id: str
    worker_id: str
    worker_rank: int

@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerState:
    status: SourceStatus
    updated_at_ms: int
    source_load: float | None

@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSummary:
    key: WorkerKey
    state: WorkerState
    model_name: str
    accelerator: str
    topology: Mapping[str, str]
    training_step: int | None
    layout_signature: str | None

@dataclass(frozen=True, slots=True, kw_only=True)
class PodReference:
    name: str
    uid: str
    namespace: str

@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerRecord:
    summary: WorkerSummary
    identity: bytes
    metadata: bytes
    pod: PodReference | None = ...

def training_step_of(extra_parameters: Mapping[str, str]) -> int | None: ...
def layout_signature_of(extra_parameters: Mapping[str, str]) -> str | None: ...
