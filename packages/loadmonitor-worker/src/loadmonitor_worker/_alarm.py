"""A sleep that ends at a moment or when rung, with at most one timer."""

import asyncio

from loadmonitor_worker.interfaces import Clock


class Alarm:
    """One timer that can be set to a moment, or left unset, and woken before it."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._waiter: asyncio.Future[None] | None = None
        self._rung = False

    def ring(self) -> None:
        """End the present sleep, or the next one if nobody sleeps."""
        self._rung = True
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def sleep_until(self, when_ns: int | None) -> None:
        """Sleep until `when_ns`, without a timer if that is None, or until rung."""
        if not self._rung:
            self._waiter = asyncio.get_running_loop().create_future()
            timer = None if when_ns is None else self._clock.call_at(when_ns, self.ring)
            try:
                await self._waiter
            finally:
                self._waiter = None
                if timer is not None:
                    timer.cancel()
        self._rung = False
