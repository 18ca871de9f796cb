"""Fakes for the Protocols of loadmonitor_worker: a clock that moves by hand and a source that does as it is told."""

import asyncio
import heapq
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count

from loadmonitor_worker.snapshot import RankSnapshot


class ManualTimer:
    """A timer of a `ManualClock`."""

    def __init__(self, callback: Callable[[], None]) -> None:
        self._callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        """Forget the callback."""
        self._callback = None

    def run(self) -> bool:
        """Run the callback unless it was cancelled or ran before; tell whether it ran."""
        callback, self._callback = self._callback, None
        if callback is None:
            return False
        callback()
        return True


class ManualClock:
    """A `Clock` that stands still until it is advanced.

    Attributes:
        wall_offset_ms: Wall clock minus monotonic clock; change it to step the wall clock.
    """

    def __init__(self, unix_ms: int = 1_800_000_000_000) -> None:
        self._now_ns = 0
        self.wall_offset_ms: int = unix_ms
        self._timers: list[tuple[int, int, ManualTimer]] = []
        self._order = count()

    def monotonic_ns(self) -> int:
        """Return the nanoseconds advanced so far."""
        return self._now_ns

    def unix_ms(self) -> int:
        """Return the wall clock in milliseconds."""
        return self.wall_offset_ms + self._now_ns // 1_000_000

    def call_at(self, when_ns: int, callback: Callable[[], None]) -> ManualTimer:
        """Keep `callback` until the clock is advanced to `when_ns`; a moment in the past is reached by any advance."""
        timer = ManualTimer(callback)
        heapq.heappush(self._timers, (when_ns, next(self._order), timer))
        return timer

    @property
    def pending(self) -> list[int]:
        """When each timer that was not cancelled will run, in nanoseconds."""
        return sorted(when for when, _, timer in self._timers if timer._callback is not None)  # noqa: SLF001

    async def advance(self, ms: float) -> None:
        """Move on by `ms`, stopping at each timer on the way and letting the event loop settle after it."""
        target_ns = self._now_ns + round(ms * 1_000_000)
        await settle()
        while self._timers and self._timers[0][0] <= target_ns:
            when_ns, _, timer = heapq.heappop(self._timers)
            self._now_ns = max(self._now_ns, when_ns)
            if timer.run():
                await settle()
        self._now_ns = target_ns

    async def stall(self, ms: float) -> None:
        """Move on by `ms` as an event loop does that was blocked meanwhile: every timer runs late."""
        self._now_ns += round(ms * 1_000_000)
        await self.advance(0)


async def settle() -> None:
    """Let every task that can run without waiting for I/O run."""
    for _ in range(20):
        await asyncio.sleep(0)


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
