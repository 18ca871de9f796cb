"""A source that does as it is told."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from loadmonitor_worker.snapshot import RankSnapshot
from loadmonitor_worker.testing.clock import ManualClock


def rank(dp_rank: int = 0, *, at: int | None = None, waiting: int = 0, running: int = 1) -> RankSnapshot:
    """Return a plausible snapshot of one rank, taken at Unix time `at` in milliseconds."""
    return RankSnapshot(
        dp_rank=dp_rank,
        snapshot_time_unix_ms=at,
        num_running_reqs=running,
        num_waiting_reqs=waiting,
        num_used_tokens=100 * running,
        num_total_tokens=100 * (running + waiting),
        max_total_num_tokens=100_000,
        max_running_requests=1_000,
        token_usage=running / 1_000,
    )


class FakeSource:
    """A `LoadSnapshotSource` that answers with `ranks`, freshly stamped, and counts how often it was asked.

    Attributes:
        ranks: The ranks of the next answer.
        error: Raised instead of answering, when set.
        pulls: How often `get_loads` was called.
        gate: While cleared, answers wait for it.
        stamp_ms: Unix time in milliseconds stamped on every rank; None stamps the clock's present.
    """

    def __init__(self, clock: ManualClock, dp_size: int = 1) -> None:
        self._clock = clock
        self.ranks: Sequence[RankSnapshot] = [rank(dp_rank) for dp_rank in range(dp_size)]
        self.expected: frozenset[int] = frozenset(range(dp_size))
        self.error: BaseException | None = None
        self.pulls: int = 0
        self.gate: asyncio.Event = asyncio.Event()
        self.gate.set()
        self.stamp_ms: int | None = None

    def expected_dp_ranks(self) -> frozenset[int]:
        """Return `expected`."""
        return self.expected

    async def get_loads(self) -> Sequence[RankSnapshot]:
        """Answer as set up."""
        self.pulls += 1
        await self.gate.wait()
        if self.error is not None:
            raise self.error
        stamp = self._clock.unix_ms() if self.stamp_ms is None else self.stamp_ms
        return [replace(item, snapshot_time_unix_ms=stamp) for item in self.ranks]
