"""What stands in Redis: the keys and JSON texts of modelexpress' Rust server, so that it and this package can serve one store.

| key                                 | field             | value                                                          |
|-------------------------------------|-------------------|----------------------------------------------------------------|
| `mx:source:{source_id}`             | `__attributes__`  | the identity that was published last                           |
|                                     | `{worker_id}`     | the rank that was published last                               |
| `mx:source:{source_id}:{worker_id}` | `{rank}`          | the whole record, as published                                 |
|                                     | `status:{rank}`   | the state with what listings show; heartbeats replace this one |

As a worker's field in the source's hash, some releases of the Rust server write nothing or a copy of `status:{rank}`; every
release reads the rank. As on its side, a source has one identity: of two that differ in the case of a text, the one
published last is shown.

The Rust server passes over members that it doesn't know. There are two: `source_load_text`, a load that JSON has no number for and
that is unknown to it, and `p2p_registry_rest`, what its layout has no place for in a `WorkerMetadata` message.
"""

import json
import math
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from google.protobuf.message import DecodeError

from p2p_registry import records
from p2p_registry.errors import P2PRegistryError
from p2p_registry.records import SourceStatus, WorkerKey, WorkerRecord, WorkerState, WorkerSummary
from p2p_registry.redis_metadata import metadata_members, metadata_of
from p2p_registry.wire import SourceIdentity

PREFIX = "mx:source:"
SOURCE_KEYS = PREFIX + "?" * 16
"""Pattern of the sources' keys; a worker's key is longer."""
ATTRIBUTES = "__attributes__"

_SOURCE_ID = re.compile(r"[0-9a-f]{16}")
_IDENTITY_FIELDS = tuple(field.name for field in SourceIdentity.DESCRIPTOR.fields)


class UnreadableError(P2PRegistryError, ValueError):
    """What stands in Redis isn't what this layout has there."""


def source_key(source_id: str) -> str:
    """Return the key of a source's hash."""
    return PREFIX + source_id


def worker_key(source_id: str, worker_id: str) -> str:
    """Return the key of a worker's hash."""
    return f"{PREFIX}{source_id}:{worker_id}"


def has_place(source_id: str, worker_id: str) -> bool:
    """Return whether the layout keeps the worker apart from everything else; for ids that the registry itself gives it does."""
    return _SOURCE_ID.fullmatch(source_id) is not None and worker_id != ATTRIBUTES


def attributes_text(identity: bytes) -> str:
    """Return a `SourceIdentity` message as the source's hash holds it."""
    message = SourceIdentity.FromString(identity)
    members = {name: getattr(message, name) for name in _IDENTITY_FIELDS}
    return _text(members | {"extra_parameters": dict(message.extra_parameters)})


def load_members(load: float | None) -> dict[str, float | str | None]:
    """Return the members that say what a load is."""
    if load is None or math.isfinite(load):
        return {"source_load": load}
    return {"source_load": None, "source_load_text": str(load)}


def load_text(load: float | None) -> str:
    """Return the members that say what a load is, as they stand inside an object."""
    return _text(load_members(load))[1:-1]


def small_text(summary: WorkerSummary) -> str:
    """Return what `status:{rank}` holds of a record when it is published."""
    return _text(_small_members(summary))


def record_text(record: WorkerRecord) -> str:
    """Return what `{rank}` holds of a record."""
    return _text(metadata_members(record.metadata) | _small_members(record.summary))


def summaries_of(source_id: str, attributes: bytes | None, rows: bytes) -> tuple[list[WorkerSummary], list[str]]:
    """Return what listings show of a source's workers, and the ids, as JSON, of those that can't be read.

    Args:
        source_id: The source's id.
        attributes: The source's `__attributes__`; None where there are none.
        rows: Id as JSON, rank and `status:{rank}` of each worker, with NUL between them.
    """
    summaries: list[WorkerSummary] = []
    unreadable: list[str] = []
    cells = rows.split(b"\0") if rows else []
    try:
        shown = _shown(attributes)
    except _UNREADABLE:
        return summaries, [worker_id.decode(errors="replace") for worker_id in cells[::3]]
    for worker_id, rank, small in zip(cells[::3], cells[1::3], cells[2::3], strict=True):
        try:
            key = WorkerKey(source_id=source_id, worker_id=json.loads(worker_id), worker_rank=int(rank))
            summaries.append(_summary(key, shown, _object(small)))
        except _UNREADABLE:
            unreadable.append(worker_id.decode(errors="replace"))
    return summaries, unreadable


def record_of(key: WorkerKey, attributes: bytes | None, whole: bytes, small: bytes | None) -> WorkerRecord:
    """Return a record; `status:{rank}` counts for its state where it is at least as new.

    Args:
        key: Where the record is kept.
        attributes: The source's `__attributes__`; None where there are none.
        whole: What stands in `{rank}`.
        small: What stands in `status:{rank}`; None where there is none.

    Raises:
        UnreadableError: One of the three can't be read.
    """
    try:
        of_source = {} if attributes is None else _object(attributes)
        identity = SourceIdentity(**{name: of_source[name] for name in _IDENTITY_FIELDS if name in of_source})
        members = _object(whole)
        latest = members if small is None else _object(small)
        if latest.get("updated_at", 0) < members.get("updated_at", 0):
            latest = members
        return WorkerRecord(
            summary=_summary(key, _shown(attributes), latest),
            identity=identity.SerializeToString(),
            metadata=metadata_of(members),
        )
    except _UNREADABLE as error:
        raise UnreadableError(f"{type(error).__name__}: {error}") from error


_UNREADABLE = (AttributeError, DecodeError, KeyError, OverflowError, TypeError, ValueError)


def _small_members(summary: WorkerSummary) -> dict[str, object]:
    return {
        "worker_rank": summary.key.worker_rank,
        "status": summary.state.status.value,
        "updated_at": summary.state.updated_at_ms,
        "accelerator": summary.accelerator,
        "topology": dict(summary.topology),
        **load_members(summary.state.source_load),
    }


class _Shown(NamedTuple):
    """What listings show of a source's identity."""

    model_name: str
    training_step: int | None
    layout_signature: str | None


def _shown(attributes: bytes | None) -> _Shown:
    members = {} if attributes is None else _object(attributes)
    extra = _texts(members.get("extra_parameters", {}))
    return _Shown(
        _a_text(members.get("model_name", "")), records.training_step_of(extra), records.layout_signature_of(extra)
    )


def _summary(key: WorkerKey, shown: _Shown, latest: Mapping[str, Any]) -> WorkerSummary:
    load = latest.get("source_load_text", latest.get("source_load"))
    status, updated_at_ms = latest.get("status", 0), int(latest.get("updated_at", 0))
    if not -(2**63) <= updated_at_ms < 2**63:
        raise OverflowError(f"updated_at={updated_at_ms} is no 64-bit number")
    return WorkerSummary(
        key=key,
        state=WorkerState(
            # A newer server may know more of them.
            status=SourceStatus(status) if status in SourceStatus.__members__.values() else SourceStatus.UNKNOWN,
            updated_at_ms=updated_at_ms,
            source_load=None if load is None else float(load),
        ),
        accelerator=_a_text(latest.get("accelerator", "")),
        topology=_texts(latest.get("topology", {})),
        **shown._asdict(),
    )


def _a_text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a text is expected, not {type(value).__name__}")
    return value


def _texts(values: Mapping[str, object]) -> dict[str, str]:
    return {name: _a_text(value) for name, value in values.items()}


def _object(text: bytes) -> dict[str, Any]:
    members = json.loads(text)
    if not isinstance(members, dict):
        raise TypeError(f"an object is expected, not {type(members).__name__}")
    return members


def _text(members: Mapping[str, object]) -> str:
    return json.dumps(members, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
