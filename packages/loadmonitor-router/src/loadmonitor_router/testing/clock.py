"""A clock that is moved by hand."""

import asyncio
import heapq
from collections.abc import Callable
from itertools import count

from loadmonitor_router.interfaces import TimerHandle

_NS_PER_MS = 1_000_000
_SETTLING_PASSES = 20


class ManualClock:
    """A `Clock` that stands still until it is moved.

    `move` runs timers and nothing else, `advance` also lets the event loop settle between them, `stall` is what a blocked event
    loop sees.

    Attributes:
        wall_offset_ms: Wall clock minus monotonic clock; change it to step the wall clock.
    """

    def __init__(self, *, monotonic_ms: int = 0, unix_ms: int = 1_750_000_000_000) -> None:
        """Start at the given times."""
        self._now_ns = monotonic_ms * _NS_PER_MS
        self.wall_offset_ms: int = unix_ms - monotonic_ms
        self._timers: list[tuple[int, int, _Timer]] = []
        self._order = count()

    def monotonic_ns(self) -> int:
        """Return the monotonic time."""
        return self._now_ns

    def unix_ms(self) -> int:
        """Return the wall-clock time."""
        return self.wall_offset_ms + self._now_ns // _NS_PER_MS

    def call_at(self, when_ns: int, callback: Callable[[], None]) -> TimerHandle:
        """Run `callback` when the clock is moved to `when_ns`, or soon on the running event loop when that is past."""
        if when_ns <= self._now_ns:
            return asyncio.get_running_loop().call_soon(callback)
        timer = _Timer(callback)
        heapq.heappush(self._timers, (when_ns, next(self._order), timer))
        return timer

    @property
    def pending(self) -> list[int]:
        """When each timer that was not cancelled will run, in nanoseconds of the monotonic time."""
        return sorted(when_ns for when_ns, _, timer in self._timers if timer.armed)

    def move(self, ms: float) -> None:
        """Move on by `ms`, running each timer that comes due at its time; no task runs meanwhile."""
        target_ns = self._now_ns + round(ms * _NS_PER_MS)
        while self._run_next(target_ns):
            pass
        self._now_ns = target_ns

    async def advance(self, ms: float) -> None:
        """Move on by `ms` as an idle machine does: before, and after each timer on the way, every task runs that can."""
        target_ns = self._now_ns + round(ms * _NS_PER_MS)
        await settle()
        while self._run_next(target_ns):
            await settle()
        self._now_ns = target_ns

    async def stall(self, ms: float) -> None:
        """Move on by `ms` as an event loop does that was blocked meanwhile: every timer runs late."""
        self._now_ns += round(ms * _NS_PER_MS)
        await self.advance(0)

    async def timer_within(self, ms: float) -> float:
        """Wait until a timer is set that comes due within so many milliseconds; return how many it has left."""
        while True:
            left_ms = [(when_ns - self._now_ns) / _NS_PER_MS for when_ns in self.pending[:1]]
            if left_ms and left_ms[0] <= ms:
                return left_ms[0]
            await asyncio.sleep(0)

    def _run_next(self, target_ns: int) -> bool:
        """Run the first timer that comes due by `target_ns`, at its time; return False when there is none."""
        while self._timers and self._timers[0][0] <= target_ns:
            when_ns, _, timer = heapq.heappop(self._timers)
            if timer.armed:
                self._now_ns = max(self._now_ns, when_ns)
                timer.run()
                return True
        return False


async def settle() -> None:
    """Let every task run that can without waiting for I/O."""
    for _ in range(_SETTLING_PASSES):
        await asyncio.sleep(0)


class _Timer:
    def __init__(self, callback: Callable[[], None]) -> None:
        self._callback = callback
        self.armed = True

    def cancel(self) -> None:
        self.armed = False

    def run(self) -> None:
        self.armed = False
        self._callback()
