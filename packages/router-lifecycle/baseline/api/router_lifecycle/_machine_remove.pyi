from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from router_lifecycle._machine import Machine as Machine, Step as Step
from router_lifecycle._machine_register import RECORD_LIFETIME_SECONDS as RECORD_LIFETIME_SECONDS, foreign_entry as foreign_entry
from router_lifecycle._steadiness import CONFIRMED as CONFIRMED, PATIENT as PATIENT, SETTLED as SETTLED
from router_lifecycle.dialects import Dialect as Dialect
from router_lifecycle.exchange import Answer as Answer
from router_lifecycle.models import JobStatus as JobStatus, WorkerRow as WorkerRow
from router_lifecycle.observation import Observation as Observation, RecordState as RecordState

class RemoveState(StrEnum):
    INTENDED = 'intended'
    ASKING = 'asking'
    ACCEPTED = 'accepted'
    UNKNOWN_ID = 'unknown_id'
    UNCERTAIN = 'uncertain'
    GONE = 'gone'
    FAILED = 'failed'
    CONFLICT = 'conflict'
    @property
    def is_end(self) -> bool: ...

class RemoveSign(StrEnum):
    UNREADABLE = 'unreadable'
    LISTED = 'listed'
    RETURNED = 'returned'
    REMOVING = 'removing'
    DRAINING = 'draining'
    REFUSED = 'refused'
    ADDING = 'adding'
    QUIET = 'quiet'
    UNTRACED = 'untraced'
    ABSENT = 'absent'
    FOREIGN = 'foreign'

REMOVE_TABLE: Mapping[tuple[RemoveState, RemoveSign], Step[RemoveState]]

@dataclass(frozen=True, slots=True)
class RemoveFacts:
    url: str
    dialect: Dialect
    worker_id: str | None
    may_be_pending: bool
    unlisted_before: bool
    age_seconds: float | None
    horizon_seconds: float
    job_before: JobStatus | None
    asked_seconds_ago: float | None

def remove_sign(seen: Observation, facts: RemoveFacts) -> RemoveSign: ...
def removal_answer(answer: Answer) -> RemoveState: ...

class RemoveMachine(Machine[RemoveState, RemoveSign]):
    def __init__(self, state: RemoveState = ...) -> None: ...
