"""Is a rank set fit to be reported: complete, without strangers, and every value one that the wire can carry."""

import sys
from collections.abc import Iterable
from dataclasses import fields, replace
from typing import Any

from loadmonitor_worker.errors import InvalidSnapshotError
from loadmonitor_worker.snapshot import RankSnapshot

INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1
_FLOAT_MAX = sys.float_info.max

_OPTIONAL_COUNTS = (
    "num_waiting_uncached_tokens",
    "num_used_tokens",
    "num_total_tokens",
    "prefill_uncached_tokens_total",
    "prefill_busy_us_total",
    "generated_tokens_total",
)
_OPTIONAL_FLOATS = ("token_usage", "gen_throughput", "cache_hit_rate", "prefill_throughput")
_FLOATS = ("utilization", *_OPTIONAL_FLOATS)
_COUNTS = tuple(
    field.name
    for field in fields(RankSnapshot)
    if field.name not in {"dp_rank", "snapshot_time_unix_ms", *_FLOATS, *_OPTIONAL_COUNTS}
)
_CAPACITY = {"num_used_tokens": "max_total_num_tokens", "num_running_reqs": "max_running_requests"}


def validate_ranks(
    loads: Iterable[RankSnapshot], expected: frozenset[int], *, clamp: bool
) -> tuple[list[RankSnapshot], int]:
    """Return the ranks sorted by `dp_rank`, and how many values were capped.

    Args:
        loads: What the source answered; at most one item more than expected is looked at.
        expected: The ranks that make the set complete.
        clamp: Cap a value above its capacity and count it, instead of refusing it.

    Raises:
        InvalidSnapshotError: The set is incomplete, or a value can't be reported; names rank and field.
    """
    ranks: dict[int, RankSnapshot] = {}
    clamped = 0
    for load in loads:
        if not isinstance(load, RankSnapshot):
            raise InvalidSnapshotError(f"the source returned {type(load).__name__!r} where RankSnapshot is expected")
        dp_rank = load.dp_rank
        if not _is_count(dp_rank, INT32_MAX):
            raise _refused(load, "dp_rank", f"an integer from 0 to {INT32_MAX}")
        if dp_rank in ranks:
            raise InvalidSnapshotError(f"rank {dp_rank} appears twice", dp_rank=dp_rank)
        if dp_rank not in expected:
            raise InvalidSnapshotError(f"rank {dp_rank} is not one of the {_describe(expected)}", dp_rank=dp_rank)
        if not _is_clean(load):
            _explain(load)
        if (load.num_used_tokens or 0) > load.max_total_num_tokens or load.num_running_reqs > load.max_running_requests:
            load, capped = _cap(load, clamp=clamp)  # noqa: PLW2901 - the capped rank takes the place of the rank
            clamped += capped
        ranks[dp_rank] = load
    if len(ranks) != len(expected):
        missing = sorted(expected - ranks.keys())
        raise InvalidSnapshotError(f"{name_ranks(missing)} missing of the {_describe(expected)}", dp_rank=missing[0])
    return [ranks[dp_rank] for dp_rank in sorted(ranks)], clamped


def name_ranks(dp_ranks: list[int]) -> str:
    """Name sorted ranks for a message: "rank 3", "ranks 0, 2, 5", or the first eight and how many more."""
    shown = ", ".join(map(str, dp_ranks[:8]))
    more = f" and {len(dp_ranks) - 8} more" if len(dp_ranks) > 8 else ""
    return f"rank{'s' if len(dp_ranks) > 1 else ''} {shown}{more}"


def _describe(expected: frozenset[int]) -> str:
    return f"{len(expected)} expected ranks" if len(expected) != 1 else f"one expected rank, {next(iter(expected))}"


def _is_count(value: Any, most: int = INT64_MAX) -> bool:
    return type(value) is int and 0 <= value <= most


def _is_ratio(value: Any) -> bool:
    return (type(value) is float or type(value) is int) and 0 <= value <= _FLOAT_MAX


def _is_clean(load: RankSnapshot) -> bool:
    """Check every value but those against capacity; written out because each rank of each report passes here."""
    return (
        (load.snapshot_time_unix_ms is None or _is_count(load.snapshot_time_unix_ms))
        and _is_count(load.num_running_reqs)
        and _is_count(load.num_waiting_reqs)
        and (load.num_waiting_uncached_tokens is None or _is_count(load.num_waiting_uncached_tokens))
        and (load.num_used_tokens is None or _is_count(load.num_used_tokens))
        and (load.num_total_tokens is None or _is_count(load.num_total_tokens))
        and _is_count(load.max_total_num_tokens)
        and _is_count(load.max_running_requests)
        and (load.token_usage is None or _is_ratio(load.token_usage))
        and (load.gen_throughput is None or _is_ratio(load.gen_throughput))
        and (load.cache_hit_rate is None or _is_ratio(load.cache_hit_rate))
        and (_is_ratio(load.utilization) or load.utilization == -1)
        and (load.prefill_throughput is None or _is_ratio(load.prefill_throughput))
        and (load.prefill_uncached_tokens_total is None or _is_count(load.prefill_uncached_tokens_total))
        and (load.prefill_busy_us_total is None or _is_count(load.prefill_busy_us_total))
        and (load.generated_tokens_total is None or _is_count(load.generated_tokens_total))
    )


def _explain(load: RankSnapshot) -> None:
    """Raise for the first value that `_is_clean` refused."""
    for name in _COUNTS:
        if not _is_count(getattr(load, name)):
            raise _refused(load, name, f"an integer from 0 to {INT64_MAX}")
    for name in ("snapshot_time_unix_ms", *_OPTIONAL_COUNTS):
        if getattr(load, name) is not None and not _is_count(getattr(load, name)):
            raise _refused(load, name, f"an integer from 0 to {INT64_MAX}, or None,")
    for name in _FLOATS:
        value = getattr(load, name)
        if not (_is_ratio(value) or (name in _OPTIONAL_FLOATS and value is None)):
            raise _refused(load, name, "a finite number of at least 0")


def _refused(load: RankSnapshot, name: str, allowed: str) -> InvalidSnapshotError:
    value = getattr(load, name)
    return InvalidSnapshotError(
        f"rank {load.dp_rank!r}: {name}={value!r} ({type(value).__name__}) can't be reported: {allowed} can",
        dp_rank=load.dp_rank,
        field=name,
    )


def _cap(load: RankSnapshot, *, clamp: bool) -> tuple[RankSnapshot, int]:
    """Cap what exceeds its capacity and return how many values did, or raise for the first."""
    capped = {}
    for name, capacity in _CAPACITY.items():
        most = getattr(load, capacity)
        if (getattr(load, name) or 0) > most:
            if not clamp:
                raise InvalidSnapshotError(
                    f"rank {load.dp_rank}: {name}={getattr(load, name)} exceeds {capacity}={most}",
                    dp_rank=load.dp_rank,
                    field=name,
                )
            capped[name] = most
    return replace(load, **capped), len(capped)
