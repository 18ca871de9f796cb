"""The removal state machine: when to ask, when to ask again, and when a worker is gone for good.

Pure: an observation becomes a sign (`remove_sign`), and the table says where a sign leads from each state. `ASKING` is the one state
in which something is to be sent; the answer to it leads on (`put`). It is only reached from a look that shows the
worker still there, and never while the router drains it: on SMG a second DELETE removes at once, and the first one then removes
whoever has the URL next.

A removal doesn't cancel an activation. So the removal of a worker that may be pending is over when nothing can bring it back, not
when it isn't listed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from router_lifecycle._machine import Machine, Step
from router_lifecycle._machine_register import RECORD_LIFETIME_SECONDS, foreign_entry
from router_lifecycle._steadiness import CONFIRMED, PATIENT, SETTLED
from router_lifecycle.dialects import Dialect
from router_lifecycle.exchange import Answer
from router_lifecycle.models import JobStatus, WorkerRow
from router_lifecycle.observation import Observation, RecordState

_RECORD_CERTAIN_SECONDS = RECORD_LIFETIME_SECONDS - 5.0


class RemoveState(StrEnum):
    """Where a removal stands."""

    INTENDED = "intended"
    """Nothing was sent yet."""
    ASKING = "asking"
    """A DELETE is due."""
    ACCEPTED = "accepted"
    """The router took it on."""
    UNKNOWN_ID = "unknown_id"
    """The router knows no such id."""
    UNCERTAIN = "uncertain"
    """The answer was lost, or said nothing."""
    GONE = "gone"
    FAILED = "failed"
    CONFLICT = "conflict"

    @property
    def is_end(self) -> bool:
        """Whether nothing leads on from here."""
        return self in (RemoveState.GONE, RemoveState.FAILED, RemoveState.CONFLICT)


class RemoveSign(StrEnum):
    """What one look shows."""

    UNREADABLE = "unreadable"
    """The list, or where it counts the record, could not be read."""
    LISTED = "listed"
    """Listed, and nobody is removing it."""
    RETURNED = "returned"
    """Listed, and the removal is recorded as failed because it came before the worker did."""
    REMOVING = "removing"
    """A removal is recorded that has not ended."""
    DRAINING = "draining"
    """The router is letting go of it."""
    REFUSED = "refused"
    """Listed, and a removal is recorded as failed."""
    ADDING = "adding"
    """Not listed, and an activation is recorded that has not ended."""
    QUIET = "quiet"
    """Neither listed nor recorded, though a running activation would be recorded."""
    UNTRACED = "untraced"
    """Not listed, and nothing shows whether an activation still runs."""
    ABSENT = "absent"
    """Not listed, and nothing can bring it back."""
    FOREIGN = "foreign"
    """The answer is about another worker, or two entries claim to be this one."""


_S, _G = RemoveState, RemoveSign
_SENT = (_S.ACCEPTED, _S.UNKNOWN_ID, _S.UNCERTAIN)

REMOVE_TABLE: Mapping[tuple[RemoveState, RemoveSign], Step[RemoveState]] = MappingProxyType(
    {
        (_S.INTENDED, _G.LISTED): Step(_S.ASKING),
        (_S.INTENDED, _G.RETURNED): Step(_S.ASKING),
        # The failure is another removal's.
        (_S.INTENDED, _G.REFUSED): Step(_S.ASKING),
        # It may be enough: 0.2.0 lists what is pending, and a removal that comes just after the activation finds it.
        (_S.INTENDED, _G.ADDING): Step(_S.ASKING),
        (_S.INTENDED, _G.UNTRACED): Step(_S.ASKING),
        (_S.ACCEPTED, _G.LISTED): Step(_S.ASKING, PATIENT),
        (_S.UNKNOWN_ID, _G.LISTED): Step(_S.ASKING, CONFIRMED),
        (_S.UNCERTAIN, _G.LISTED): Step(_S.ASKING, CONFIRMED),
        **{(state, _G.RETURNED): Step(_S.ASKING, CONFIRMED) for state in _SENT},
        **{(state, _G.REFUSED): Step(_S.FAILED, CONFIRMED) for state in _SENT},
        (_S.INTENDED, _G.QUIET): Step(_S.GONE, SETTLED),
        **{(state, _G.QUIET): Step(_S.GONE, SETTLED) for state in _SENT},
        **{(state, _G.ABSENT): Step(_S.GONE) for state in (_S.INTENDED, *_SENT)},
        **{(state, _G.FOREIGN): Step(_S.CONFLICT) for state in (_S.INTENDED, *_SENT)},
    }
)
"""Where each sign leads. What isn't in it leads nowhere: go on looking."""


@dataclass(frozen=True, slots=True)
class RemoveFacts:
    """What must be known of a worker to read a look at its removal.

    Attributes:
        url: The worker's URL.
        dialect: What the router speaks.
        worker_id: The router's id of it, or None.
        may_be_pending: Whether an accepted registration may still make it routable.
        unlisted_before: Whether the URL certainly wasn't listed before that registration.
        age_seconds: Time since that registration was sent, or None when unknown.
        horizon_seconds: Age from which the router can't be working on it any more.
        job_before: The record of the last job on the URL before the last DELETE.
        asked_seconds_ago: Time since the last DELETE that may have become a job, which takes over the record; None without one.
    """

    url: str
    dialect: Dialect
    worker_id: str | None
    may_be_pending: bool
    unlisted_before: bool
    age_seconds: float | None
    horizon_seconds: float
    job_before: JobStatus | None
    asked_seconds_ago: float | None


def remove_sign(seen: Observation, facts: RemoveFacts) -> RemoveSign:
    """Return what a look shows."""
    if foreign_entry(seen, facts.url, facts.worker_id) is not None:
        return RemoveSign.FOREIGN
    job = seen.job
    # The record of an earlier removal is no news of this one.
    removal = job if job is not None and job.removes and (not job.is_failed or job != facts.job_before) else None
    if seen.rows is None:
        return RemoveSign.REMOVING if removal is not None and not removal.is_failed else RemoveSign.UNREADABLE
    if seen.rows:
        return _listed_sign(seen.rows, removal, facts)
    if removal is not None and not removal.is_failed:
        return RemoveSign.REMOVING
    if seen.record_state is RecordState.UNREAD and facts.dialect.show(facts.url, facts.worker_id) is not None:
        return RemoveSign.UNREADABLE
    return _unlisted_sign(seen, job, facts)


def _listed_sign(rows: tuple[WorkerRow, ...], removal: JobStatus | None, facts: RemoveFacts) -> RemoveSign:
    if all(row.is_draining for row in rows):
        return RemoveSign.DRAINING
    if removal is None:
        return RemoveSign.LISTED
    if not removal.is_failed:
        return RemoveSign.REMOVING
    # It came only after the removal had looked for it, perhaps while that was still recorded as under way.
    came_late = (facts.may_be_pending or facts.unlisted_before) and "not found" in (removal.message or "")
    return RemoveSign.RETURNED if came_late else RemoveSign.REFUSED


def _unlisted_sign(seen: Observation, job: JobStatus | None, facts: RemoveFacts) -> RemoveSign:
    is_adding = job is not None and job.adds and not job.is_failed
    if is_adding or (seen.record is not None and seen.record.status == "pending"):
        return RemoveSign.ADDING
    over = facts.age_seconds is not None and facts.age_seconds >= facts.horizon_seconds
    if not facts.may_be_pending or over or (job is not None and job.adds and job.is_failed):
        return RemoveSign.ABSENT
    if seen.record_state is not RecordState.ABSENT:
        return RemoveSign.UNTRACED
    return RemoveSign.QUIET if _would_be_recorded(facts) else RemoveSign.UNTRACED


def _would_be_recorded(facts: RemoveFacts) -> bool:
    """Return whether an activation that still runs would show in the record of the URL."""
    if facts.dialect.records_expire:
        recent = facts.age_seconds is not None and facts.age_seconds < _RECORD_CERTAIN_SECONDS
        return recent and facts.asked_seconds_ago is None
    # Such a router shows it as pending beside the record of the removal, for as long as that is kept.
    return facts.asked_seconds_ago is None or facts.asked_seconds_ago < _RECORD_CERTAIN_SECONDS


def removal_answer(answer: Answer) -> RemoveState:
    """Return where the answer to a DELETE leads.

    The body doesn't count: whether the worker goes is seen by looking. 401 and 403 are the caller's to tell apart before.
    """
    if answer.status in (200, 202, 204):
        return RemoveState.ACCEPTED
    if answer.status == 404:
        return RemoveState.UNKNOWN_ID
    if 400 <= answer.status < 500 and answer.status not in (408, 425, 429):
        return RemoveState.FAILED
    return RemoveState.UNCERTAIN


class RemoveMachine(Machine[RemoveState, RemoveSign]):
    """Follows one removal from its intention to its end; `put` takes what the answer to a DELETE says."""

    def __init__(self, state: RemoveState = RemoveState.INTENDED) -> None:
        """Start where the removal stands."""
        super().__init__(REMOVE_TABLE, state, blind=RemoveSign.UNREADABLE)
