"""Time that passes when a test says so."""

import asyncio
import heapq
from collections.abc import Awaitable
from itertools import count
from typing import TypeVar

T = TypeVar("T")

# Turns of the event loop after which whoever could go on without time passing has done so: a request through a client, its
# transport and the fake takes about ten. More turns only cost time; fewer would let a deadline pass that wasn't reached.
_TURNS_UNTIL_IDLE = 60


class ManualClock:
    """A monotonic clock in seconds that stands still until it is advanced.

    Give the clock itself where a time is asked for (`clock()` is the time), and `clock.sleep` where waiting is. Then either
    `advance` it by hand, or let `run` pass the time as fast as everyone is waiting for it.
    """

    def __init__(self, start_seconds: float = 0.0) -> None:
        """Start at a time, by default zero."""
        self._now = start_seconds
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = count()
        self._uses = 0

    def __call__(self) -> float:
        """Return the time, in seconds."""
        self._uses += 1
        return self._now

    def advance(self, seconds: float) -> None:
        """Let time pass at once, and wake whoever slept until then.

        The woken run after this returns, so they all see the end of the step. Where the order of what happens within the step
        counts, use `await clock.run(clock.sleep(seconds))`.

        Args:
            seconds: 0 or above.

        Raises:
            ValueError: The step is negative.
        """
        if seconds < 0:
            raise ValueError(f"a clock can't be advanced by {seconds} s: give 0 or more")
        self._jump(self._now + seconds)

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock has advanced by that much; 0 or less only gives way to others."""
        self._uses += 1
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        woken = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._now + seconds, next(self._order), woken))
        await woken

    async def run(self, awaitable: Awaitable[T]) -> T:
        """Await something, passing the time to the next sleeper's end whenever nobody can go on without it.

        It is for one event loop in one thread, with the fake router in process: over a real socket, what is on its way can't be
        told from nothing to do. Give the fake `time.monotonic` there.
        """
        task = asyncio.ensure_future(awaitable)
        try:
            while True:
                turns, uses = 0, self._uses
                while turns < _TURNS_UNTIL_IDLE:
                    if task.done():
                        return task.result()
                    await asyncio.sleep(0)
                    # Whoever reads the clock is at work: requests that follow each other without a wait need more turns.
                    turns, uses = (turns + 1, uses) if uses == self._uses else (0, self._uses)
                awake = self._next_wake()
                if awake is None:
                    # Nobody waits for this clock: something real is on its way.
                    await asyncio.wait({task}, timeout=0.001)
                else:
                    self._jump(awake)
        finally:
            task.cancel()
            # Let it clean up before whoever cancelled this looks for what is left.
            for _ in range(_TURNS_UNTIL_IDLE):
                if task.done():
                    break
                await asyncio.sleep(0)

    def _next_wake(self) -> float | None:
        while self._sleepers and self._sleepers[0][2].done():
            heapq.heappop(self._sleepers)
        return self._sleepers[0][0] if self._sleepers else None

    def _jump(self, to_seconds: float) -> None:
        self._now = max(self._now, to_seconds)
        while self._sleepers and self._sleepers[0][0] <= self._now:
            _, _, woken = heapq.heappop(self._sleepers)
            if not woken.done():
                woken.set_result(None)
