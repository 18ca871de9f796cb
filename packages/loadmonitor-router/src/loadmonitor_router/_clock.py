"""The machine's clocks, and waiting on one of them."""

import asyncio
import time
from collections.abc import Callable

from loadmonitor_router.interfaces import Clock, TimerHandle

_NS_PER_MS = 1_000_000
_NS_PER_SECOND = 1_000_000_000


class SystemClock:
    """A Clock on the running event loop."""

    def monotonic_ns(self) -> int:
        """Return the machine's monotonic time."""
        return time.monotonic_ns()

    def unix_ms(self) -> int:
        """Return the machine's wall-clock time."""
        return time.time_ns() // _NS_PER_MS

    def call_at(self, when_ns: int, callback: Callable[[], None]) -> TimerHandle:
        """Run `callback` on the running loop at `when_ns`."""
        delay = (when_ns - time.monotonic_ns()) / _NS_PER_SECOND
        return asyncio.get_running_loop().call_later(delay, callback)


class Signal:
    """Something may have changed: one task waits, anybody sets."""

    def __init__(self, clock: Clock) -> None:
        """Make a signal that isn't set."""
        self._clock = clock
        self._event = asyncio.Event()

    def set(self, _cause: object = None) -> None:
        """Wake the waiting task, or the next wait; fits as a done callback."""
        self._event.set()

    async def wait(self, until_ns: int) -> None:
        """Return, and be unset again, once set or once the clock has reached `until_ns`."""
        timer = self._clock.call_at(until_ns, self._event.set)
        try:
            await self._event.wait()
        finally:
            timer.cancel()
        self._event.clear()
