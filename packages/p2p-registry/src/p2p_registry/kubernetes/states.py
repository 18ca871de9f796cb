"""A worker's state as fields of its object, and back."""

import math
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from p2p_registry.records import SourceStatus, WorkerState

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NAMES = {status: status.name.capitalize() for status in SourceStatus}
_STATUSES = {name: status for status, name in _NAMES.items()}


def state_fields(state: WorkerState) -> dict[str, Any]:
    """Return the fields of a state; None deletes what an earlier one left, in a merge patch.

    A load that a JSON number can't carry through an API server stands beside it as text: NaN, infinity and minus zero. With the
    time, because modelexpress' server changes the number and leaves the text.
    """
    number, exact, updated_at = state.source_load, None, time_text(state.updated_at_ms)
    if number is not None and (not math.isfinite(number) or str(number) == "-0.0"):
        exact = {"text": str(number), "updatedAt": updated_at}
        number = 0.0 if number == 0 else None
    return {
        "status": _NAMES[state.status],
        "updatedAt": updated_at,
        "sourceLoad": number,
        "exactSourceLoad": exact,
    }


def state_of(fields: Mapping[str, Any]) -> WorkerState:
    """Return the state that these fields tell; a status or a time that can't be read is unknown, or the epoch."""
    updated_at, load, exact = fields.get("updatedAt"), fields.get("sourceLoad"), fields.get("exactSourceLoad")
    if exact is not None and exact["updatedAt"] == updated_at:
        load = exact["text"]
    return WorkerState(
        status=_STATUSES.get(fields.get("status", ""), SourceStatus.UNKNOWN),
        updated_at_ms=_milliseconds(updated_at),
        source_load=None if load is None else float(load),
    )


def ready_condition(state: WorkerState, before: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the condition Ready for `kubectl wait`; its transition time is that of the last change from or to True."""
    name = _NAMES[state.status]
    is_ready = "True" if state.status is SourceStatus.READY else "False"
    since = time_text(state.updated_at_ms)
    if before is not None and before.get("status") == is_ready:
        since = before.get("lastTransitionTime", since)
    return {
        "type": "Ready",
        "status": is_ready,
        "reason": f"Worker{name}",
        "message": f"the worker's last update said {name}",
        "lastTransitionTime": since,
    }


def time_text(milliseconds: int) -> str:
    """Return a time in milliseconds since the Unix epoch as RFC 3339 in UTC."""
    at = _EPOCH + timedelta(milliseconds=milliseconds)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _milliseconds(text: object) -> int:
    try:
        return (datetime.fromisoformat(text) - _EPOCH) // timedelta(milliseconds=1)  # type: ignore[arg-type] # checked here
    except (TypeError, ValueError):
        return 0
