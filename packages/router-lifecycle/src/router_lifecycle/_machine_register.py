"""The registration state machine: what looks at an accepted worker prove.

Pure: an observation becomes a sign (`register_sign`), and the table says where a sign leads from each state. Two facts of the field
shape it. The record of the last job is one for each URL, shared by all jobs on it and gone after 300 s on old routers; so the list
decides wherever it can. And a URL that was listed before the submission says nothing about the submission by still being listed;
so there the record must agree.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from router_lifecycle._machine import Machine, Step
from router_lifecycle._steadiness import CONFIRMED, SETTLED
from router_lifecycle.dialects import Dialect
from router_lifecycle.models import JobStatus, WorkerRow, ranks_missing
from router_lifecycle.observation import Observation, RecordState

RECORD_LIFETIME_SECONDS = 300.0
# A record's own time starts a little after the submission; a sign that must hold for 5 s before that needs its time.
_RECORD_CERTAIN_SECONDS = RECORD_LIFETIME_SECONDS - 5.0


class RegisterState(StrEnum):
    """Where a submission stands once it was accepted."""

    AWAITED = "awaited"
    """The URL was not listed before the submission."""
    AWAITED_AGAIN = "awaited_again"
    """It was; an entry may be the old one."""
    DOUBTED = "doubted"
    """It was, and an AddWorker job failed since: what is healthy is the old entry, also when the record is gone again."""
    ACTIVE = "active"
    FAILED = "failed"
    LOST = "lost"
    CONFLICT = "conflict"

    @property
    def is_end(self) -> bool:
        """Whether nothing leads on from here."""
        return self not in _OPEN_STATES


class RegisterSign(StrEnum):
    """What one look shows."""

    UNREADABLE = "unreadable"
    """The list, or where it counts the record, could not be read."""
    ROUTABLE = "routable"
    """Listed and healthy (`ready` on SMG), no job recorded."""
    RANKS_ROUTABLE = "ranks_routable"
    """All listed ranks are healthy, and nobody says how many there are."""
    ROUTABLE_JOB_OPEN = "routable_job_open"
    """Listed and healthy, and a job is recorded that has not ended."""
    ROUTABLE_JOB_FAILED = "routable_job_failed"
    """Listed and healthy, and an AddWorker job is recorded as failed."""
    UNHEALTHY = "unhealthy"
    """Listed, but an entry isn't healthy or a rank is missing."""
    PENDING = "pending"
    """Not listed; a job is recorded that has not ended."""
    FAILED = "failed"
    """Not healthy, and an AddWorker job is recorded as failed."""
    VANISHED = "vanished"
    """Neither listed nor recorded, though a running job would be recorded and a failed one too."""
    ENDED_SILENTLY = "ended_silently"
    """Neither listed nor recorded, on a router that records no failure."""
    UNTRACED = "untraced"
    """Neither listed nor recorded, but the record of a running job may have expired."""
    REMOVAL = "removal"
    """Somebody is removing this URL."""
    FOREIGN = "foreign"
    """The answer is about another worker, or two entries claim to be this one."""


_OPEN_STATES = (RegisterState.AWAITED, RegisterState.AWAITED_AGAIN, RegisterState.DOUBTED)

_S, _G = RegisterState, RegisterSign
_COMMON = {
    _G.FAILED: Step(_S.FAILED, CONFIRMED),
    _G.VANISHED: Step(_S.LOST, SETTLED),
    _G.ENDED_SILENTLY: Step(_S.FAILED, SETTLED),
    _G.REMOVAL: Step(_S.CONFLICT),
    _G.FOREIGN: Step(_S.CONFLICT),
}

REGISTER_TABLE: Mapping[tuple[RegisterState, RegisterSign], Step[RegisterState]] = MappingProxyType(
    {
        (_S.AWAITED, _G.ROUTABLE): Step(_S.ACTIVE),
        (_S.AWAITED, _G.RANKS_ROUTABLE): Step(_S.ACTIVE, CONFIRMED),
        (_S.AWAITED, _G.ROUTABLE_JOB_OPEN): Step(_S.ACTIVE),
        (_S.AWAITED, _G.ROUTABLE_JOB_FAILED): Step(_S.ACTIVE),
        (_S.AWAITED_AGAIN, _G.ROUTABLE): Step(_S.ACTIVE, CONFIRMED),
        (_S.AWAITED_AGAIN, _G.RANKS_ROUTABLE): Step(_S.ACTIVE, CONFIRMED),
        (_S.AWAITED_AGAIN, _G.ROUTABLE_JOB_FAILED): Step(_S.DOUBTED),
        (_S.DOUBTED, _G.ROUTABLE): Step(_S.FAILED, CONFIRMED),
        (_S.DOUBTED, _G.RANKS_ROUTABLE): Step(_S.FAILED, CONFIRMED),
        (_S.DOUBTED, _G.ROUTABLE_JOB_FAILED): Step(_S.FAILED, CONFIRMED),
        **{(state, sign): step for state in _OPEN_STATES for sign, step in _COMMON.items()},
    }
)
"""Where each sign leads. What isn't in it leads nowhere: go on looking."""


@dataclass(frozen=True, slots=True)
class RegisterFacts:
    """What must be known of a submission to read a look at it.

    Attributes:
        url: The worker's URL.
        dialect: What the router speaks.
        listed_before: Whether the URL was listed before the submission.
        job_before: The record of the last job on the URL at that time.
        row_seen: Whether the URL was listed in an earlier look.
        age_seconds: Time since the submission, or None when unknown.
        horizon_seconds: Age from which the router can't be working on it any more.
        worker_id: The id of the submission, or None.
    """

    url: str
    dialect: Dialect
    listed_before: bool
    job_before: JobStatus | None
    row_seen: bool
    age_seconds: float | None
    horizon_seconds: float
    worker_id: str | None


def register_sign(seen: Observation, facts: RegisterFacts) -> RegisterSign:
    """Return what a look shows."""
    rows = seen.rows
    if foreign_entry(seen, facts.url, facts.worker_id) is not None:
        return RegisterSign.FOREIGN
    job = seen.job if seen.job != facts.job_before else None
    if _somebody_removes(seen, job):
        return RegisterSign.REMOVAL
    add_failed = job is not None and job.adds and job.is_failed
    if rows is None:
        return RegisterSign.PENDING if job is not None and not job.is_failed else RegisterSign.UNREADABLE
    if rows:
        return _listed_sign(rows, seen, job, add_failed=add_failed, facts=facts)
    if seen.record_state is RecordState.PRESENT:
        return RegisterSign.FAILED if add_failed else RegisterSign.PENDING
    if seen.record_state is RecordState.UNREAD and facts.dialect.show(facts.url, facts.worker_id) is not None:
        return RegisterSign.UNREADABLE
    return _absent_sign(facts)


def foreign_entry(seen: Observation, url: str, worker_id: str | None) -> str | None:
    """Return what an observation holds that can't be this worker, or None when nothing is wrong."""
    record = seen.record
    if record is not None and (record.base_url != url or (worker_id and record.id not in (None, worker_id))):
        return f"asked for {worker_id or url}, the router answers about {record.url} (id {record.id})"
    entries: dict[int | None, str | None] = {}
    for row in seen.rows or ():
        if row.rank in entries:
            return f"two entries are this worker: ids {entries[row.rank]} and {row.id}"
        entries[row.rank] = row.id
    return None


def _somebody_removes(seen: Observation, job: JobStatus | None) -> bool:
    entries = [*(seen.rows or ()), *([seen.record] if seen.record else ())]
    return any(entry.is_draining for entry in entries) or (job is not None and job.removes and not job.is_failed)


def _listed_sign(
    rows: tuple[WorkerRow, ...], seen: Observation, job: JobStatus | None, *, add_failed: bool, facts: RegisterFacts
) -> RegisterSign:
    routable = all(row.is_routable for row in rows) or not facts.dialect.names_listed_health
    if not routable or ranks_missing(rows):
        # What wasn't listed before and is now can't fail for being there: that record is of a duplicate, which 0.2.0 lets take
        # the place of the record of an activation that goes on.
        of_duplicate = not facts.listed_before and job is not None and "already exists" in (job.message or "")
        failed = (add_failed and not of_duplicate) or any(row.status == "failed" for row in rows)
        return RegisterSign.FAILED if failed else RegisterSign.UNHEALTHY
    asked_in_vain = seen.record_state is RecordState.UNREAD and bool(seen.faults)
    if facts.listed_before and asked_in_vain:
        return RegisterSign.UNREADABLE
    if add_failed:
        return RegisterSign.ROUTABLE_JOB_FAILED
    if job is not None and not job.is_failed:
        return RegisterSign.ROUTABLE_JOB_OPEN
    counted = rows[0].rank is None or any(row.expected_ranks for row in rows)
    return RegisterSign.ROUTABLE if counted else RegisterSign.RANKS_ROUTABLE


def _absent_sign(facts: RegisterFacts) -> RegisterSign:
    """Say what it means that nothing is to be seen: 404 after an acceptance has six meanings."""
    age = facts.age_seconds
    if facts.worker_id is None and not facts.dialect.finds_by_url and not facts.row_seen:
        # Nobody could be asked: what is pending has an id that was never told.
        return RegisterSign.VANISHED if age is not None and age >= facts.horizon_seconds else RegisterSign.UNTRACED
    if facts.dialect.records_expire and (age is None or _RECORD_CERTAIN_SECONDS <= age < facts.horizon_seconds):
        # An entry that was seen is gone whatever became of the record.
        return RegisterSign.VANISHED if facts.row_seen else RegisterSign.UNTRACED
    if facts.dialect.records_failures or facts.row_seen:
        return RegisterSign.VANISHED
    return RegisterSign.ENDED_SILENTLY


class RegisterMachine(Machine[RegisterState, RegisterSign]):
    """Follows one submission from its acceptance to its end."""

    def __init__(self, state: RegisterState) -> None:
        """Start where the submission stands."""
        super().__init__(REGISTER_TABLE, state, blind=RegisterSign.UNREADABLE)
