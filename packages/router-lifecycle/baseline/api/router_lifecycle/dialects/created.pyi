from dataclasses import dataclass
from enum import StrEnum
from router_lifecycle.dialects.base import DialectName as DialectName
from router_lifecycle.exchange import Answer as Answer
from router_lifecycle.urls import split_dp_rank as split_dp_rank

class CreatedKind(StrEnum):
    ACCEPTED = 'accepted'
    REJECTED = 'rejected'
    EXISTS = 'exists'
    IN_PROGRESS = 'in_progress'
    UNAUTHORIZED = 'unauthorized'
    UNKNOWN = 'unknown'

@dataclass(frozen=True, slots=True)
class Created:
    kind: CreatedKind
    reason: str
    worker_id: str | None = ...
    dialect: DialectName | None = ...

def read_created(answer: Answer, url: str, guess: DialectName) -> Created: ...
