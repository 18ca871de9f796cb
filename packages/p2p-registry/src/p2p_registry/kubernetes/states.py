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

    A load that a JSON number can't carry through an API server stands beside it as text: NaN, infinity and minus zero.
    """
    number, text = state.source_load, None
    if number is not None and (not math.isfinite(number) or (number == 0 and math.copysign(1, number) < 0)):
        number, text = None if math.isnan(number) or math.isinf(number) else 0.0, str(number)
    return {
        "status": _NAMES[state.status],
        "updatedAt": time_text(state.updated_at_ms),
        "sourceLoad": number,
        "sourceLoadText": text,
    }


def state_of(fields: Mapping[str, Any]) -> WorkerState:
    """Return the state that these fields tell; a status or a time that can't be read is unknown, or the epoch."""
    text = fields.get("sourceLoadText")
    load = fields.get("sourceLoad") if text is None else text
    return WorkerState(
        status=_STATUSES.get(fields.get("status", ""), SourceStatus.UNKNOWN),
        updated_at_ms=_milliseconds(fields.get("updatedAt")),
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
