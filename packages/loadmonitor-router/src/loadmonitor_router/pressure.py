"""Queue pressure: how long a rank needs to prefill what waits.

    queue pressure = waiting uncached prompt tokens / prefill rate        (tokens / (tokens / s) = s)

The prefill rate is what the rank says (`prefill_throughput`), or else the growth of its cumulative counters between two
reports, uncached prompt tokens over seconds spent in prefill. It is never the generation rate: that of a Worker that only
prefills is 0, and that of any other says nothing about prefill.
"""

import math
from collections.abc import Mapping

from loadmonitor_router.reports import RankLoad, WorkerReport

_US_PER_SECOND = 1_000_000


def queue_pressure_seconds(
    waiting_uncached_tokens: int | None, prefill_tokens_per_second: float | None
) -> float | None:
    """Return the seconds that prefilling what waits takes.

    Args:
        waiting_uncached_tokens: Prompt tokens waiting whose KV isn't cached; not negative. None when unknown.
        prefill_tokens_per_second: The rank's prefill rate, or None when unknown.

    Returns:
        0.0 when nothing waits, whatever the rate: that is measured. None when something waits and the rate is unknown or
        zero, and when what waits is unknown, whatever the rate.
    """
    if waiting_uncached_tokens == 0:
        return 0.0
    if waiting_uncached_tokens is None or not prefill_tokens_per_second:
        return None
    seconds = waiting_uncached_tokens / prefill_tokens_per_second
    return seconds if math.isfinite(seconds) else None


class PrefillRates:
    """The prefill rate of each rank of one Worker, from one report to the next."""

    def __init__(self) -> None:
        self._instance: str | None = None
        self._totals: dict[int, tuple[int, int]] = {}

    def observe(self, report: WorkerReport) -> Mapping[int, float | None]:
        """Take in the next report; return uncached prompt tokens per second by `dp_rank`.

        A rank's own statement goes first. Else its counters are compared with those of its previous report of the same
        source instance. None where there is no such report, where a counter is absent or has run backwards, as after a
        restart of the engine, and where nothing was prefilled in between.
        """
        before = self._totals if report.source_instance_id == self._instance else {}
        self._instance = report.source_instance_id
        if report.ranks or not before:
            self._totals = {rank.dp_rank: totals for rank in report.ranks if (totals := _totals(rank)) is not None}
        return {rank.dp_rank: _rate(rank, before.get(rank.dp_rank)) for rank in report.ranks}


def _totals(rank: RankLoad) -> tuple[int, int] | None:
    tokens, busy_us = rank.prefill_uncached_tokens_total, rank.prefill_busy_us_total
    return None if tokens is None or busy_us is None else (tokens, busy_us)


def _rate(rank: RankLoad, before: tuple[int, int] | None) -> float | None:
    if rank.prefill_throughput is not None:
        return rank.prefill_throughput
    now = _totals(rank)
    if now is None or before is None:
        return None
    tokens, busy_us = now[0] - before[0], now[1] - before[1]
    return tokens / busy_us * _US_PER_SECOND if tokens > 0 and busy_us > 0 else None
