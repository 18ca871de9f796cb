"""Workers that are named once."""

import asyncio
from collections.abc import Iterable
from typing import Self

from loadmonitor_router.discovery.targets import DEFAULT_REPORTER_PORT, target_set, worker_target
from loadmonitor_router.snapshot import WorkerTarget


class StaticDiscovery:
    """A Discovery of Workers that never change: one set, then silence until it is closed."""

    def __init__(self, workers: Iterable[str | WorkerTarget], *, reporter_port: int = DEFAULT_REPORTER_PORT) -> None:
        """Name the Workers.

        Args:
            workers: URLs, or Workers whose reporter is known.
            reporter_port: Where the reporters of the URLs listen.

        Raises:
            ConfigError: A URL or the port isn't allowed.
            WorkerListError: Two Workers share a reporter.
        """
        self._targets = target_set(
            worker_target(worker, reporter_port) if isinstance(worker, str) else worker for worker in workers
        )
        self._shown = False
        self._closed = asyncio.Event()

    @property
    def last_error(self) -> str | None:
        """None: nothing is looked up."""
        return None

    def __aiter__(self) -> Self:
        """Return itself."""
        return self

    async def __anext__(self) -> tuple[WorkerTarget, ...]:
        """Return the set, the first time."""
        if self._shown:
            await self._closed.wait()
        if self._closed.is_set():
            raise StopAsyncIteration
        self._shown = True
        return self._targets

    async def aclose(self) -> None:
        """End the iteration."""
        self._closed.set()
