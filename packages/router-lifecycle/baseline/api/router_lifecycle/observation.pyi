from enum import StrEnum
from pydantic import BaseModel
from router_lifecycle.models import JobStatus as JobStatus, WorkerRow as WorkerRow

class RecordState(StrEnum):
    PRESENT = 'present'
    ABSENT = 'absent'
    UNREAD = 'unread'

class Observation(BaseModel, frozen=True):
    seen_at_unix_seconds: float
    record_state: RecordState
    record: WorkerRow | None
    rows: tuple[WorkerRow, ...] | None
    faults: tuple[str, ...]
    unreachable: bool
    unanswered: bool
    retry_after_seconds: float | None
    @property
    def job(self) -> JobStatus | None: ...
