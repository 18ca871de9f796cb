from enum import StrEnum
from pydantic import AfterValidator as AfterValidator, BaseModel, Field as Field, SecretStr as SecretStr, ValidationInfo as ValidationInfo
from router_lifecycle.models import JobStatus as JobStatus, Worker as Worker
from router_lifecycle.observation import Observation as Observation
from router_lifecycle.router_url import normalize_router_url as normalize_router_url
from router_lifecycle.spec import WorkerSpec as WorkerSpec
from typing import Annotated, Self

class Phase(StrEnum):
    NEW = 'new'
    SUBMISSION_UNKNOWN = 'submission_unknown'
    ACCEPTED = 'accepted'
    ACTIVE = 'active'
    FAILED = 'failed'
    LOST = 'lost'
    REMOVING = 'removing'
    REMOVED = 'removed'
    UNRESOLVED = 'unresolved'

class RegistrationHandle(BaseModel, validate_assignment=True):
    router: Annotated[str, None]
    spec: WorkerSpec
    needs_key: Annotated[bool, None]
    phase: Phase
    dialect: str | None
    worker_id: str | None
    listed_before: bool | None
    job_before: JobStatus | None
    submitted_at_unix_seconds: float | None
    row_seen: bool
    failure: str | None
    outcome_known: bool
    last_observation: Observation | None
    @property
    def url(self) -> str: ...
    @property
    def lacks_key(self) -> bool: ...
    def with_key(self, api_key: SecretStr) -> Self: ...
    @property
    def may_be_pending(self) -> bool: ...
    def to_removal(self) -> RemovalHandle: ...

class RemovalHandle(BaseModel, validate_assignment=True):
    router: Annotated[str, None]
    url: str
    worker_id: str | None
    deletes: int
    answer: str | None
    asked_at_unix_seconds: float | None
    may_be_pending: bool
    submitted_at_unix_seconds: float | None
    unlisted_before: bool
    job_before: JobStatus | None
    done: bool
    last_observation: Observation | None

class ReplacementHandle(BaseModel):
    router: Annotated[str, None]
    old: RemovalHandle
    new: RegistrationHandle
    @property
    def is_in_place(self) -> bool: ...
    @property
    def left(self) -> str: ...

class ReconciledState(StrEnum):
    ACTIVE = 'active'
    PENDING = 'pending'
    FAILED = 'failed'
    ABSENT = 'absent'
    UNRESOLVED = 'unresolved'

class Reconciliation(BaseModel, frozen=True):
    state: ReconciledState
    handle: RegistrationHandle
    worker: Worker | None
    observation: Observation
    @property
    def safe_to_resubmit(self) -> bool: ...
