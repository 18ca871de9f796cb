"""Looking for Workers again and again."""

from abc import ABC, abstractmethod
from typing import Self

from loadmonitor_router._clock import Signal, SystemClock
from loadmonitor_router.errors import ConfigError, LoadMonitorRouterError
from loadmonitor_router.interfaces import Clock
from loadmonitor_router.snapshot import WorkerTarget

_NS_PER_SECOND = 1_000_000_000


class PollingDiscovery(ABC):
    """A Discovery that looks, waits and looks again."""

    def __init__(self, *, interval_seconds: float, clock: Clock | None) -> None:
        """Look at once, then each `interval_seconds`."""
        if not interval_seconds > 0:
            raise ConfigError(f"interval_seconds={interval_seconds!r} is not allowed: a number of seconds above 0 is")
        self._clock: Clock = SystemClock() if clock is None else clock
        self._interval_seconds = interval_seconds
        self._wake = Signal(self._clock)
        self._due_ns = self._clock.monotonic_ns()
        self._shown: tuple[WorkerTarget, ...] | None = None
        self._last_error: str | None = None
        self._closed = False

    @property
    def last_error(self) -> str | None:
        """Why the last look failed, for people; None when it didn't."""
        return self._last_error

    def __aiter__(self) -> Self:
        """Return itself."""
        return self

    async def __anext__(self) -> tuple[WorkerTarget, ...]:
        """Wait for a set that differs from the one before."""
        while not self._closed:
            if self._clock.monotonic_ns() < self._due_ns:
                await self._wake.wait(self._due_ns)
                continue
            try:
                found = await self._look()
            except LoadMonitorRouterError as error:
                self._last_error = str(error)
                found = self._shown
            else:
                self._last_error = None
            self._due_ns = self._clock.monotonic_ns() + int(self._interval_seconds * _NS_PER_SECOND)
            if found is not None and found != self._shown:
                self._shown = found
                return found
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """End the iteration, also one that is waiting, and let go of connections."""
        self._closed = True
        self._wake.set()

    @abstractmethod
    async def _look(self) -> tuple[WorkerTarget, ...] | None:
        """Return the Workers there are; None when that isn't known yet, and no fault either.

        Raises:
            LoadMonitorRouterError: The look failed.
        """
