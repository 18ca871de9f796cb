"""Reads candidates out of what other libraries list: protobuf messages, or any object with the same attributes."""

from collections.abc import Mapping
from typing import Any, Final

from p2p_selection.candidates import Candidate
from p2p_selection.errors import MalformedCandidateError

_STATUSES: Final[Mapping[object, str]] = {0: "UNKNOWN", 1: "INITIALIZING", 2: "READY", 3: "STALE"}
"""`SourceStatus` of modelexpress, whose messages hold the number."""

_MAX_RANK: Final = 0xFFFF_FFFF
"""The wire's uint32; a number of thousands of digits, which JSON can hold, has no text that Python would write."""


def candidate_from(entry: object) -> Candidate:
    """Return the candidate that an entry of a list describes.

    An entry is a `Candidate`, or has attributes of the same names, such as a `SourceInstanceRef` of modelexpress. There,
    `updated_at` is the time of the last update, and `worker_grpc_endpoint` or `metadata_endpoint` the endpoint. An optional
    field of a protobuf message that isn't set is unknown, not its default.

    Raises:
        MalformedCandidateError: An id is no text that UTF-8 can carry, or empty; the rank isn't an integer
            of 0 to 2**32 - 1, or the time none; the load isn't a number; or the topology isn't a mapping of texts.
    """
    try:
        candidate = entry if isinstance(entry, Candidate) else _read(entry)
        _check(candidate)
    except MalformedCandidateError:
        raise
    except Exception as error:
        raise MalformedCandidateError(f"it can't be read: {type(error).__name__}: {error}") from error
    return candidate


def _read(entry: object) -> Candidate:
    status = getattr(entry, "status", None)
    return Candidate(
        mx_source_id=getattr(entry, "mx_source_id", ""),
        worker_id=getattr(entry, "worker_id", ""),
        worker_rank=getattr(entry, "worker_rank", -1),
        source_load=getattr(entry, "source_load", None) if _tells(entry, "source_load") else None,
        topology=getattr(entry, "topology", None) or {},
        updated_at_ms=_first(entry, "updated_at_ms", "updated_at"),
        endpoint=_first(entry, "endpoint", "worker_grpc_endpoint", "metadata_endpoint") or None,
        accelerator=getattr(entry, "accelerator", None) or "",
        status="" if status is None else _STATUSES.get(status, str(status).removeprefix("SOURCE_STATUS_")),
    )


def _tells(entry: object, field: str) -> bool:
    """Tell whether a field is set, as far as the entry keeps track of that."""
    try:
        return bool(entry.HasField(field))  # type: ignore[attr-defined] # asked, because only protobuf messages have it
    except (AttributeError, ValueError, TypeError):
        return True


def _first(entry: object, *names: str) -> Any:
    return next((value for name in names if (value := getattr(entry, name, None)) is not None), None)


def _check(candidate: Any) -> None:  # whatever its type says, another process filled it
    for name in ("mx_source_id", "worker_id"):
        value = getattr(candidate, name)
        if value == "":
            raise MalformedCandidateError(f"{name} is empty or missing")
        if not isinstance(value, str) or not _encodes(value):
            raise MalformedCandidateError(f"{name}={value!r} is not a text that UTF-8 can carry")
    for name in ("accelerator", "status", "endpoint"):
        value = getattr(candidate, name)
        if not isinstance(value, str) and (name, value) != ("endpoint", None):
            raise MalformedCandidateError(f"{name}={value!r} is not a text")
    rank, updated = candidate.worker_rank, candidate.updated_at_ms
    if isinstance(rank, bool) or not isinstance(rank, int) or not 0 <= rank <= _MAX_RANK:
        raise MalformedCandidateError(f"worker_rank={rank!r} is not an integer of 0 to {_MAX_RANK}")
    if updated is not None and (isinstance(updated, bool) or not isinstance(updated, int)):
        raise MalformedCandidateError(f"updated_at_ms={updated!r} is not a time in milliseconds")
    load = candidate.source_load
    if load is not None and (isinstance(load, bool) or not isinstance(load, int | float)):
        raise MalformedCandidateError(f"source_load={load!r} is not a number")
    if not isinstance(candidate.topology, Mapping):
        raise MalformedCandidateError(f"topology={candidate.topology!r} is not a mapping")


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
