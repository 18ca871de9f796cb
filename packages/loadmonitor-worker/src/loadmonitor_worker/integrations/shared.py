"""One reporter for everything that serves in a process: HTTP alone, or a native gRPC server beside it."""

import asyncio
from contextlib import AsyncExitStack
from types import TracebackType

from loadmonitor_worker.config import ReporterConfig
from loadmonitor_worker.errors import ServingModeError
from loadmonitor_worker.integrations._running import MakeSource, running_reporter
from loadmonitor_worker.reporter import LoadReporter


class SharedReporter:
    """Runs from when the first server of this process enters it until the last one has left.

    Enter it with `async with` wherever a server's life is managed: in the lifespan of a FastAPI or Starlette application, after
    the engine has started, and around the native gRPC server beside it. However many enter, one reporter listens. An
    exception in a block closes it like a regular end; a start that failed is tried again by whoever enters next.

    All servers must run on one event loop. An engine whose loop may stand still takes `ReporterThread`.

    Attributes:
        reporter: The running reporter; None while nobody has entered, and when reporting is off.
    """

    def __init__(self, config: ReporterConfig, make_source: MakeSource) -> None:
        """Prepare; nothing is started, and nothing imported, before the first server enters.

        Args:
            config: Settings; `port=None` switches reporting off.
            make_source: Makes the source when the reporter starts. A source with `aclose` or `close` is closed after it.
        """
        self.reporter: LoadReporter | None = None
        self._config = config
        self._make_source = make_source
        self._inside = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._changing = asyncio.Lock()
        self._stack: AsyncExitStack | None = None

    async def __aenter__(self) -> LoadReporter | None:
        """Start the reporter, or join those who have; return it, or None when reporting is off.

        Raises:
            ServingModeError: The reporter runs on another event loop.
            LoadReporterError: It can't start; as `start_load_reporter`.
        """
        loop = asyncio.get_running_loop()
        if self._inside == 0 and self._stack is None and loop is not self._loop:
            self._loop = loop
            self._changing = asyncio.Lock()
        elif loop is not self._loop:
            raise ServingModeError(
                "the shared load reporter runs on another event loop: run all servers of a process on one loop, or "
                "take a ReporterThread"
            )
        self._inside += 1
        try:
            async with self._changing:
                if self._stack is None:
                    async with AsyncExitStack() as stack:
                        self.reporter = await stack.enter_async_context(
                            running_reporter(self._config, self._make_source)
                        )
                        self._stack = stack.pop_all()
        except BaseException:
            await self._leave()
            raise
        return self.reporter

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the reporter if nobody else is inside; returns when routers have been told and the port is free."""
        await self._leave()

    async def _leave(self) -> None:
        self._inside -= 1
        async with self._changing:
            if self._inside == 0 and self._stack is not None:
                stack, self._stack = self._stack, None
                self.reporter = None
                await stack.aclose()
