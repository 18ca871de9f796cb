"""The real clock, on the running event loop."""

import asyncio
import time
from collections.abc import Callable


class SystemClock:
    """`Clock` of the running loop: asyncio's timers and `time.monotonic_ns` count the same clock."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()

    def monotonic_ns(self) -> int:
        """Return `time.monotonic_ns()`."""
        return time.monotonic_ns()

    def unix_ms(self) -> int:
        """Return the wall clock in milliseconds."""
        return time.time_ns() // 1_000_000

    def call_at(self, when_ns: int, callback: Callable[[], None]) -> asyncio.TimerHandle:
        """Schedule `callback` on the loop."""
        return self._loop.call_at(when_ns / 1e9, callback)
