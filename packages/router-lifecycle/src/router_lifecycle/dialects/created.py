"""What the answer to a submission says; it decides which dialect the router speaks."""

import re
from dataclasses import dataclass
from enum import StrEnum

from router_lifecycle.dialects.base import DialectName
from router_lifecycle.exchange import Answer
from router_lifecycle.urls import split_dp_rank

_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
# Too early, too slow, too many: the request may have been handled, or be handled still.
_AMBIGUOUS = frozenset({408, 425, 429})


class CreatedKind(StrEnum):
    """What became of a submission."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    EXISTS = "exists"
    IN_PROGRESS = "in_progress"
    UNAUTHORIZED = "unauthorized"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Created:
    """The reading of an answer to a submission.

    Attributes:
        kind: What became of it.
        reason: The router's words.
        worker_id: The id, where the answer tells one that can be trusted.
        dialect: What such an answer is spoken in, or None when it doesn't tell.
    """

    kind: CreatedKind
    reason: str
    worker_id: str | None = None
    dialect: DialectName | None = None


def read_created(answer: Answer, url: str, guess: DialectName) -> Created:
    """Read the answer to the submission of `url`.

    Args:
        answer: What came back.
        url: The URL that was submitted, in canonical spelling.
        guess: What the router was taken to speak; only tells SMG from 0.3.x, whose answers are equal.
    """
    reason = answer.excerpt()
    if answer.status == 202:
        return _read_accepted(answer, url, guess)
    if answer.status == 200:
        return _read_done(answer, url)
    if answer.status in (401, 403):
        return Created(CreatedKind.UNAUTHORIZED, reason)
    if answer.status == 409:
        kind = CreatedKind.IN_PROGRESS if answer.error_code() == "WORKER_CREATE_IN_PROGRESS" else CreatedKind.EXISTS
        told = _UUID.search(str((answer.json_object() or {}).get("error", "")))
        return Created(kind, reason, told[0] if told else None, "smg")
    if 300 <= answer.status < 500 and answer.status not in _AMBIGUOUS:
        return Created(CreatedKind.REJECTED, reason)
    return Created(CreatedKind.UNKNOWN, reason)


def _read_accepted(answer: Answer, url: str, guess: DialectName) -> Created:
    body = answer.json_object() or {}
    worker_id, told_url = body.get("worker_id"), body.get("url", url)
    # Where ids are URLs ours is known whatever came back.
    own = Created(CreatedKind.UNKNOWN, f"{answer.excerpt()} (not understood)", url if guess == "url" else None)
    if body.get("status") != "accepted" or not isinstance(told_url, str) or split_dp_rank(told_url)[0] != url:
        return own
    if worker_id == url and "location" not in body:
        return Created(CreatedKind.ACCEPTED, answer.excerpt(), url, "url")
    if _is_uuid(worker_id) and body.get("location", f"/workers/{worker_id}") == f"/workers/{worker_id}":
        dialect: DialectName = "smg" if guess == "smg" else "uuid"
        return Created(CreatedKind.ACCEPTED, answer.excerpt(), worker_id, dialect)
    return own


def _read_done(answer: Answer, url: str) -> Created:
    """Read a 200: a router of the old kind has done it, or something else than a router has answered."""
    body = answer.json_object()
    if body is not None:
        done = body.get("success") is True or body.get("status") == "success"
    else:
        done = url in answer.text and "added" in answer.text
    if done:
        return Created(CreatedKind.ACCEPTED, answer.excerpt(), url, "sync")
    if body is not None and body.get("success") is False:
        return Created(CreatedKind.REJECTED, answer.excerpt(), None, "sync")
    return Created(CreatedKind.UNKNOWN, f"{answer.excerpt()} (not understood)")


def _is_uuid(value: object) -> bool:
    return isinstance(value, str) and _UUID.fullmatch(value) is not None
