"""SGLang's names for the load of one rank, and their way into a RankSnapshot.

Pure: the values come as a mapping, from wherever SGLang published them.
"""

import math
import reprlib
from collections.abc import Mapping
from typing import Any, Final

from loadmonitor_worker.errors import InvalidSnapshotError
from loadmonitor_worker.snapshot import RankSnapshot

_COUNTS: Final = (
    "num_running_reqs",
    "num_waiting_reqs",
    "num_waiting_uncached_tokens",
    "num_used_tokens",
    "num_total_tokens",
    "max_total_num_tokens",
    "max_running_requests",
)
_RATIOS: Final = ("token_usage", "gen_throughput", "cache_hit_rate", "utilization")
TOTALS: Final = {
    "total_prefill_uncached_tokens": "prefill_uncached_tokens_total",
    "total_prefill_busy_us": "prefill_busy_us_total",
}
"""Counters by SGLang's name, with the field of RankSnapshot each one fills."""

KNOWN_KEYS: Final = ("timestamp", "dp_rank", *_COUNTS, *_RATIOS, *TOTALS)
"""Every name that is read, in SGLang's order; others are ignored."""

_TIMESTAMP_LIMIT_SECONDS: Final = 2**63 / 1_000


def with_defaults(fields: Mapping[object, object]) -> dict[str, object]:
    """Return the known fields of a map from which the engine left out those that are 0."""
    return {key: fields.get(key, 0) for key in KNOWN_KEYS}


def snapshot_unix_ms(load: Mapping[str, object]) -> int | None:
    """Return when SGLang took these numbers, in Unix milliseconds; None when the rank has not published yet.

    Rounded down, so that a snapshot never looks newer than it is.

    Raises:
        InvalidSnapshotError: The timestamp is no time.
    """
    seconds = _number(load, "timestamp")
    if not 0 <= seconds < _TIMESTAMP_LIMIT_SECONDS:
        raise _wrong(load, "timestamp", "seconds since the Unix epoch are")
    # By way of microseconds: the product with 1000 alone may fall just below a whole millisecond.
    return round(seconds * 1_000_000) // 1_000 or None


def to_rank_snapshot(load: Mapping[str, object]) -> RankSnapshot:
    """Build the snapshot of one rank from SGLang's names and values.

    Types are checked here, and that a ratio is none above 1: a `cache_hit_rate` is unknown then. Other ranges, and how ranks
    fit together, are the reporter's business.

    Raises:
        InvalidSnapshotError: A value has the wrong type or is missing, or `token_usage` exceeds 1; a missing counter of TOTALS
            is unknown instead.
    """
    values: dict[str, Any] = {key: _integer(load, key) for key in ("dp_rank", *_COUNTS)}
    for key in _RATIOS:
        values[key] = _number(load, key)
    if values["token_usage"] > 1:
        raise InvalidSnapshotError(
            f"token_usage of rank {values['dp_rank']} is {values['token_usage']:g}, above 1: no share of a pool can be, and "
            "nothing is scaled in silence",
            dp_rank=values["dp_rank"],
            field="token_usage",
        )
    if 1 < values["cache_hit_rate"] < math.inf:
        values["cache_hit_rate"] = None  # SGLang wrote it as a percentage in 2024; routers do without
    for key, field in TOTALS.items():
        if key in load:
            values[field] = _integer(load, key)
    return RankSnapshot(snapshot_time_unix_ms=snapshot_unix_ms(load), **values)


def to_sglang_fields(snapshot: RankSnapshot) -> dict[str, object]:
    """Name the values of a snapshot as SGLang does, in SGLang's order; None where it is unknown."""
    time_ms = snapshot.snapshot_time_unix_ms
    fields: dict[str, object] = {"timestamp": None if time_ms is None else time_ms / 1_000}
    for key in ("dp_rank", *_COUNTS, *_RATIOS):
        fields[key] = getattr(snapshot, key)
    for key, field in TOTALS.items():
        fields[key] = getattr(snapshot, field)
    return fields


def _integer(load: Mapping[str, object], key: str) -> int:
    value = load.get(key)
    if type(value) is not int:
        raise _wrong(load, key, "an integer is")
    return value


def _number(load: Mapping[str, object], key: str) -> float:
    value = load.get(key)
    if type(value) is int or type(value) is float:
        return value
    raise _wrong(load, key, "a number is")


def _wrong(load: Mapping[str, object], key: str, allowed: str) -> InvalidSnapshotError:
    received = reprlib.repr(load[key]) if key in load else "missing"
    dp_rank = load.get("dp_rank")
    return InvalidSnapshotError(
        f"{key} of rank {reprlib.repr(dp_rank)} is {received}, where {allowed} expected: the engine publishes another format than that of "
        "SGLang 0.5.23",
        dp_rank=dp_rank if type(dp_rank) is int else None,
        field=key,
    )
