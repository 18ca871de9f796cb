"""A whole Worker in one row: its ranks taken together, beside them and never in their place."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from loadmonitor_router.reports import RankLoad
from loadmonitor_router.snapshot import WorkerAggregate

_Number = TypeVar("_Number", int, float)


def aggregate_ranks(
    ranks: Sequence[RankLoad], queue_pressure_seconds: Mapping[int, float | None]
) -> WorkerAggregate | None:
    """Take the ranks of one Worker together.

    Counts and capacities add up, ratios don't: the mean usage weighs each rank with its KV capacity, and the fullest rank and
    the longest queue stand beside it, because a mean hides one rank that is stuck. What one rank doesn't tell is unknown for
    the Worker, never 0: in a sum, in a mean, and as the greatest too, which it might be.

    Args:
        ranks: All ranks of one report.
        queue_pressure_seconds: By `dp_rank`, as far as known.

    Returns:
        The aggregate, or None without ranks.
    """
    if not ranks:
        return None
    waiting = [rank.num_waiting_reqs for rank in ranks]
    longest = max(waiting)
    fullest = _max_known(rank.token_usage for rank in ranks)
    capacity = _sum_known(rank.max_total_num_tokens for rank in ranks)
    generation = _sum_known(rank.gen_throughput for rank in ranks)
    return WorkerAggregate(
        num_running_reqs=sum(rank.num_running_reqs for rank in ranks),
        num_waiting_reqs=sum(waiting),
        max_waiting_reqs=longest,
        waiting_spread=longest - min(waiting),
        num_waiting_uncached_tokens=_sum_known(rank.num_waiting_uncached_tokens for rank in ranks),
        num_used_tokens=_sum_known(rank.num_used_tokens for rank in ranks),
        max_total_num_tokens=capacity,
        max_running_requests=_sum_known(rank.max_running_requests for rank in ranks),
        token_usage=None
        if capacity is None or fullest is None
        else min(
            fullest, sum((rank.token_usage or 0) * ((rank.max_total_num_tokens or 0) / capacity) for rank in ranks)
        ),
        max_token_usage=fullest,
        # Finite rates may add up to infinity.
        gen_throughput=None if generation is None else min(sys.float_info.max, generation),
        queue_pressure_seconds=_max_known(queue_pressure_seconds.get(rank.dp_rank) for rank in ranks),
    )


def _sum_known(values: Iterable[_Number | None]) -> _Number | None:
    total: _Number = 0
    for value in values:
        if value is None:
            return None
        total += value
    return total


def _max_known(values: Iterable[float | None]) -> float | None:
    greatest = 0.0
    for value in values:
        if value is None:
            return None
        greatest = max(greatest, value)
    return greatest
