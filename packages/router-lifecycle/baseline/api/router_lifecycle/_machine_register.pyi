from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from router_lifecycle._machine import Machine as Machine, Step as Step
from router_lifecycle._steadiness import CONFIRMED as CONFIRMED, SETTLED as SETTLED
from router_lifecycle.dialects import Dialect as Dialect
from router_lifecycle.models import JobStatus as JobStatus, WorkerRow as WorkerRow, ranks_missing as ranks_missing
from router_lifecycle.observation import Observation as Observation, RecordState as RecordState

RECORD_LIFETIME_SECONDS: float

class RegisterState(StrEnum):
    AWAITED = 'awaited'
    AWAITED_AGAIN = 'awaited_again'
    DOUBTED = 'doubted'
    ACTIVE = 'active'
    FAILED = 'failed'
    LOST = 'lost'
    CONFLICT = 'conflict'
    @property
    def is_end(self) -> bool: ...

class RegisterSign(StrEnum):
    UNREADABLE = 'unreadable'
    ROUTABLE = 'routable'
    RANKS_ROUTABLE = 'ranks_routable'
    ROUTABLE_JOB_OPEN = 'routable_job_open'
    ROUTABLE_JOB_FAILED = 'routable_job_failed'
    UNHEALTHY = 'unhealthy'
    PENDING = 'pending'
    FAILED = 'failed'
    VANISHED = 'vanished'
    ENDED_SILENTLY = 'ended_silently'
    UNTRACED = 'untraced'
    REMOVAL = 'removal'
    FOREIGN = 'foreign'

REGISTER_TABLE: Mapping[tuple[RegisterState, RegisterSign], Step[RegisterState]]

@dataclass(frozen=True, slots=True)
class RegisterFacts:
    url: str
    dialect: Dialect
    listed_before: bool
    job_before: JobStatus | None
    row_seen: bool
    age_seconds: float | None
    horizon_seconds: float
    worker_id: str | None

def register_sign(seen: Observation, facts: RegisterFacts) -> RegisterSign: ...
def foreign_entry(seen: Observation, url: str, worker_id: str | None) -> str | None: ...

class RegisterMachine(Machine[RegisterState, RegisterSign]):
    def __init__(self, state: RegisterState) -> None: ...
