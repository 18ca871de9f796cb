"""Load that no engine has: for demonstrations and tests."""

import hashlib
import math
from collections.abc import Callable, Sequence
from typing import Final

from loadmonitor_worker.errors import ConfigError
from loadmonitor_worker.snapshot import RankSnapshot
from loadmonitor_worker.sources._time import system_unix_ms

_MAX_TOTAL_NUM_TOKENS: Final = 500_000
_MAX_RUNNING_REQUESTS: Final = 256
_GENERATED_TOKENS_PER_SECOND: Final = 6_000.0
_PREFILL_TOKENS_PER_SECOND: Final = 20_000.0
_PREFILL_SHARE_OF_TIME: Final = 0.4
_PROMPT_TOKENS: Final = 512
_QUEUE_STARTS_AT: Final = 0.7
_LONGEST_QUEUE: Final = 64


class SyntheticSource:
    """Reports a load that swings between idle and nearly full, each rank at its own pace.

    The load is a function of the seed, the rank and the clock alone, so two sources that start at the same time with the
    same settings agree. Totals are the exact integrals of the rates.

    Args:
        dp_size: Number of ranks, at least 1.
        seed: Chooses each rank's mean, swing and phase.
        period_ms: Length of one swing in milliseconds, at least 1.
        unix_ms: The clock that drives the load and stamps the ranks, in milliseconds since the Unix epoch.

    Raises:
        ConfigError: A setting is out of range.
    """

    def __init__(
        self,
        dp_size: int,
        *,
        seed: int = 0,
        period_ms: int = 20_000,
        unix_ms: Callable[[], int] = system_unix_ms,
    ) -> None:
        for name, value in (("dp_size", dp_size), ("period_ms", period_ms)):
            if type(value) is not int or value < 1:
                raise ConfigError(f"{name}={value!r} is not allowed: an integer of at least 1 is")
        self._ranks = range(dp_size)
        self._seed = seed
        self._period_ms = period_ms
        self._unix_ms = unix_ms
        self._started_ms = unix_ms()

    async def get_loads(self) -> Sequence[RankSnapshot]:
        """Return the load of this moment, every rank stamped with it."""
        now_ms = self._unix_ms()
        return [self._load(rank, now_ms) for rank in self._ranks]

    def expected_dp_ranks(self) -> frozenset[int]:
        """Return every rank; the set never changes."""
        return frozenset(self._ranks)

    def _load(self, rank: int, now_ms: int) -> RankSnapshot:
        mean = 0.35 + 0.25 * self._draw(rank, "mean")
        swing = 0.1 + 0.2 * self._draw(rank, "swing")
        phase = math.tau * self._draw(rank, "phase")
        hit_rate = round(0.2 + 0.6 * self._draw(rank, "hit rate"), 4)
        angle_per_ms = math.tau / self._period_ms
        elapsed_ms = now_ms - self._started_ms
        angle = phase + angle_per_ms * elapsed_ms
        level = mean + swing * math.sin(angle)
        loaded_seconds = (mean * elapsed_ms + swing / angle_per_ms * (math.cos(phase) - math.cos(angle))) / 1_000

        used = round(level * _MAX_TOTAL_NUM_TOKENS)
        waiting = round(max(0.0, level - _QUEUE_STARTS_AT) * _LONGEST_QUEUE / (1 - _QUEUE_STARTS_AT))
        return RankSnapshot(
            dp_rank=rank,
            snapshot_time_unix_ms=now_ms,
            num_running_reqs=round(level * _MAX_RUNNING_REQUESTS),
            num_waiting_reqs=waiting,
            num_waiting_uncached_tokens=round(waiting * _PROMPT_TOKENS * (1 - hit_rate)),
            num_used_tokens=used,
            num_total_tokens=used + waiting * _PROMPT_TOKENS,
            max_total_num_tokens=_MAX_TOTAL_NUM_TOKENS,
            max_running_requests=_MAX_RUNNING_REQUESTS,
            token_usage=round(used / _MAX_TOTAL_NUM_TOKENS, 4),
            gen_throughput=round(level * _GENERATED_TOKENS_PER_SECOND, 2),
            cache_hit_rate=hit_rate,
            utilization=round(level, 4),
            prefill_throughput=round(level * _PREFILL_TOKENS_PER_SECOND, 2),
            prefill_uncached_tokens_total=int(loaded_seconds * _PREFILL_TOKENS_PER_SECOND),
            prefill_busy_us_total=int(loaded_seconds * _PREFILL_SHARE_OF_TIME * 1_000_000),
            generated_tokens_total=int(loaded_seconds * _GENERATED_TOKENS_PER_SECOND),
        )

    def _draw(self, rank: int, what: str) -> float:
        """Return a number from 0 to 1 that depends on the seed, the rank and what it is for."""
        digest = hashlib.blake2s(f"{self._seed}|{rank}|{what}".encode(), digest_size=4).digest()
        return int.from_bytes(digest, "big") / 2**32
