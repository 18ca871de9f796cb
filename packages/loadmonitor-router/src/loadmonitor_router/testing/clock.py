"""A clock moved by hand."""

import asyncio
import heapq
from collections.abc import Callable
from itertools import count

from loadmonitor_router.interfaces import TimerHandle

_NS_PER_MS = 1_000_000


class ManualClock:
    """A Clock that stands still until it is told to advance."""

    def __init__(self, *, monotonic_ms: int = 1_000_000, unix_ms: int = 1_750_000_000_000) -> None:
        """Start at the given times."""
        self._monotonic_ns = monotonic_ms * _NS_PER_MS
        self._wall_ms = unix_ms - monotonic_ms
        self._timers: list[tuple[int, int, _ManualTimer]] = []
        self._order = count()

    def monotonic_ns(self) -> int:
        """Return the monotonic time."""
        return self._monotonic_ns

    def unix_ms(self) -> int:
        """Return the wall-clock time."""
        return self._wall_ms + self._monotonic_ns // _NS_PER_MS

    def call_at(self, when_ns: int, callback: Callable[[], None]) -> TimerHandle:
        """Run `callback` while the clock advances to `when_ns`, or soon when that is past."""
        if when_ns <= self._monotonic_ns:
            return asyncio.get_running_loop().call_soon(callback)
        timer = _ManualTimer(callback)
        heapq.heappush(self._timers, (when_ns, next(self._order), timer))
        return timer

    def advance(self, milliseconds: float) -> None:
        """Move both clocks on, running each timer that comes due at its time."""
        end_ns = self._monotonic_ns + int(milliseconds * _NS_PER_MS)
        while self._timers and self._timers[0][0] <= end_ns:
            self._monotonic_ns, _, timer = heapq.heappop(self._timers)
            timer.run()
        self._monotonic_ns = end_ns

    def step_wall_clock(self, milliseconds: int) -> None:
        """Move the wall clock alone, forwards or backwards."""
        self._wall_ms += milliseconds

    async def timer_within(self, milliseconds: float) -> float:
        """Wait until a timer is set that comes due within so many milliseconds; return how many it has left."""
        while True:
            armed = [when_ns - self._monotonic_ns for when_ns, _, timer in self._timers if timer.armed]
            if armed and min(armed) <= milliseconds * _NS_PER_MS:
                return min(armed) / _NS_PER_MS
            await asyncio.sleep(0)


class _ManualTimer:
    def __init__(self, callback: Callable[[], None]) -> None:
        self._callback = callback
        self.armed = True

    def cancel(self) -> None:
        self.armed = False

    def run(self) -> None:
        if self.armed:
            self.armed = False
            self._callback()
