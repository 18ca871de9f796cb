"""A clock that moves by hand."""

import asyncio
import heapq
from collections.abc import Callable
from itertools import count


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
