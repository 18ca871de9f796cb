"""What a caller holds of an operation: true at every moment, and good in another process."""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, Field, SecretStr, ValidationInfo, field_validator

from router_lifecycle.models import JobStatus, Worker
from router_lifecycle.observation import Observation
from router_lifecycle.router_url import normalize_router_url
from router_lifecycle.spec import WorkerSpec


class Phase(StrEnum):
    """How far a registration has come, as far as this client knows."""

    NEW = "new"
    """Nothing was sent."""
    SUBMISSION_UNKNOWN = "submission_unknown"
    """It was sent, and whether it was accepted isn't known."""
    ACCEPTED = "accepted"
    """The router took it and hasn't finished."""
    ACTIVE = "active"
    """It is routable, or was when it was last looked at."""
    FAILED = "failed"
    """The router gave it up."""
    LOST = "lost"
    """The router took it and no longer knows of it."""
    REMOVING = "removing"
    """Its removal was submitted."""
    REMOVED = "removed"
    """It is gone, and nothing can bring it back."""
    UNRESOLVED = "unresolved"
    """It isn't listed, and may still come back."""


class RegistrationHandle(BaseModel, validate_assignment=True):
    """One submission of one worker to one router.

    The client brings it up to date before and after each step that counts, so that it is true whenever a call is cut short: from
    just before the request leaves until the router's answer is understood its phase is `submission_unknown`. Dump it
    (`model_dump_json`) or pickle it, and any client of the same router goes on with it. A dump leaves out the worker's own key, which
    only a submission needs: `with_key` gives it back, and until then a handle that has lost it isn't submitted.

    Attributes:
        router: URL of the router.
        spec: The worker.
        needs_key: Whether the worker was described with a key of its own.
        phase: How far it has come.
        dialect: Of the router that accepted it (sync, url, uuid or smg), or None.
        worker_id: The router's id of the submission, or None while unknown.
        listed_before: Whether the URL was listed before the submission, or None before it.
        job_before: The record of the last job on the URL before the submission, or None.
        submitted_at_unix_seconds: When the request was sent, or None.
        row_seen: Whether the URL was listed at any time after the submission.
        failure: Message of an AddWorker job that failed on the URL since, or None; it need not be the job of this submission.
        outcome_known: Whether it is certain how the submission ended.
        last_observation: The last look, or None.
    """

    router: Annotated[str, AfterValidator(normalize_router_url)]
    spec: WorkerSpec
    needs_key: Annotated[bool, Field(validate_default=True)] = False
    phase: Phase = Phase.NEW
    dialect: str | None = None
    worker_id: str | None = None
    listed_before: bool | None = None
    job_before: JobStatus | None = None
    submitted_at_unix_seconds: float | None = None
    row_seen: bool = False
    failure: str | None = None
    outcome_known: bool = False
    last_observation: Observation | None = None

    @field_validator("needs_key")
    @classmethod
    def _is_described_with_key(cls, needs_key: bool, info: ValidationInfo) -> bool:
        spec = info.data.get("spec")
        return needs_key or (isinstance(spec, WorkerSpec) and spec.api_key is not None)

    @property
    def url(self) -> str:
        """URL of the worker."""
        return self.spec.url

    @property
    def lacks_key(self) -> bool:
        """Whether a dump has left out the worker's own key."""
        return self.needs_key and self.spec.api_key is None

    def with_key(self, api_key: SecretStr) -> Self:
        """Return a copy that has the worker's own key again.

        Raises:
            pydantic.ValidationError: It can't be a header's.
        """
        spec = WorkerSpec.model_validate({**self.spec.model_dump(), "api_key": api_key})
        return self.model_copy(update={"spec": spec, "needs_key": True})

    @property
    def may_be_pending(self) -> bool:
        """Whether the router may still make the worker routable without being asked again."""
        return not self.outcome_known and self.phase not in (Phase.NEW, Phase.REMOVED)

    def to_removal(self) -> "RemovalHandle":
        """Return the handle of a removal of what was submitted with this one."""
        came_to_be = self.row_seen and self.listed_before is False
        # An earlier removal may have sent a DELETE, whose job took over the record.
        asked_before = self.phase in (Phase.REMOVING, Phase.UNRESOLVED)
        return RemovalHandle(
            router=self.router,
            url=self.url,
            worker_id=self.worker_id,
            may_be_pending=self.may_be_pending and not came_to_be,
            submitted_at_unix_seconds=self.submitted_at_unix_seconds,
            unlisted_before=self.listed_before is False,
            asked_at_unix_seconds=self.submitted_at_unix_seconds if asked_before else None,
        )


class RemovalHandle(BaseModel, validate_assignment=True):
    """One removal of one worker from one router; serialisable, and true at every moment.

    Attributes:
        router: URL of the router.
        url: URL of the worker.
        worker_id: The router's id of it, or None where only the list tells.
        deletes: How many DELETE requests were sent.
        answer: What the last of them brought: `accepted`, `unknown_id`, or `uncertain` (also while none came yet); None before the first, and
            again after one that the router failed.
        asked_at_unix_seconds: When the last DELETE was sent that may have become a job, or None.
        may_be_pending: Whether an accepted registration may still make the worker routable.
        submitted_at_unix_seconds: When that registration was sent, or None when unknown.
        unlisted_before: Whether the URL certainly wasn't listed before it, so that an entry is what came of it.
        job_before: The record of the last job on the URL before the last DELETE, or None.
        done: Whether it is gone for good.
        last_observation: The last look, or None.
    """

    router: Annotated[str, AfterValidator(normalize_router_url)]
    url: str
    worker_id: str | None = None
    deletes: int = 0
    answer: str | None = None
    asked_at_unix_seconds: float | None = None
    may_be_pending: bool = False
    submitted_at_unix_seconds: float | None = None
    unlisted_before: bool = False
    job_before: JobStatus | None = None
    done: bool = False
    last_observation: Observation | None = None


class ReplacementHandle(BaseModel):
    """One worker put in the place of another at one router; serialisable, and true at every moment.

    Its two halves are brought up to date as those of a removal and a registration are, so that what is left to do shows in them.

    Attributes:
        router: URL of the router.
        old: The removal of the worker that goes.
        new: The registration of the one that comes.
    """

    router: Annotated[str, AfterValidator(normalize_router_url)]
    old: RemovalHandle
    new: RegistrationHandle

    @property
    def is_in_place(self) -> bool:
        """Whether both have one URL, so that the old one has to go first."""
        return self.old.url == self.new.url

    @property
    def left(self) -> str:
        """What is left to do, for people."""
        coming = "" if self.new.phase is Phase.ACTIVE else f"{self.new.url} isn't active ({self.new.phase})"
        # In place the new one is only submitted once the old one is gone.
        is_gone = self.old.done or (self.is_in_place and self.new.phase is not Phase.NEW)
        going = "" if is_gone else f"{self.old.url} isn't removed"
        return " and ".join(filter(None, (going, coming) if self.is_in_place else (coming, going))) or "nothing"


class ReconciledState(StrEnum):
    """What became of a submission."""

    ACTIVE = "active"
    """Routable."""
    PENDING = "pending"
    """Accepted: wait for it."""
    FAILED = "failed"
    """Accepted, and it failed."""
    ABSENT = "absent"
    """The router does not have it and is not working on it."""
    UNRESOLVED = "unresolved"
    """None of these could be shown."""


class Reconciliation(BaseModel, frozen=True):
    """What a router's answers say of a submission whose outcome was unknown.

    Attributes:
        state: What is known.
        handle: Brought up to date: with an id where one was found, and back to `new` when absent.
        worker: As listed, when active; else None.
        observation: The last look.
    """

    state: ReconciledState
    handle: RegistrationHandle
    worker: Worker | None
    observation: Observation

    @property
    def safe_to_resubmit(self) -> bool:
        """Whether a submission now can't be the second one of a worker that the router has or works on."""
        return self.state is ReconciledState.ABSENT
