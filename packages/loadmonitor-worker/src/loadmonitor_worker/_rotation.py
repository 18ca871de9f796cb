"""Looks at files again and again, without the event loop ever waiting for a disk."""

import asyncio
from collections.abc import Callable

from loadmonitor_worker.interfaces import Clock, TimerHandle

LOOK_EVERY_NS = 1_000_000_000


class Rotation:
    """Calls a function in a thread once a second, and never twice at once."""

    def __init__(self, look: Callable[[], None], clock: Clock) -> None:
        self._look = look
        self._clock = clock
        self._timer: TimerHandle | None = None
        self._looking: asyncio.Task[None] | None = None
        self._ended = False

    def start(self) -> None:
        """Look a second from now."""
        self._timer = self._clock.call_at(self._clock.monotonic_ns() + LOOK_EVERY_NS, self._due)

    async def end(self, timeout_seconds: float) -> None:
        """Look no more, and wait for a look that has begun; not for one on a disk that hangs."""
        self._ended = True
        if self._timer is not None:
            self._timer.cancel()
        if self._looking is not None:
            await asyncio.wait({self._looking}, timeout=timeout_seconds)

    def _due(self) -> None:
        self._looking = asyncio.get_running_loop().create_task(self._run(), name="loadmonitor-certificates")

    async def _run(self) -> None:
        await asyncio.to_thread(self._look)
        if not self._ended:
            self.start()
