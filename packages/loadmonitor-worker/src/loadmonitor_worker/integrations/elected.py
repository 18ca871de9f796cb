"""One reporter for several processes that serve one engine: the owner reports, and is replaced when it dies."""

import asyncio
import logging
import os
from collections.abc import Collection, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from loadmonitor_worker.config import ReporterConfig
from loadmonitor_worker.errors import ServingModeError
from loadmonitor_worker.integrations._owner_files import OwnerFiles
from loadmonitor_worker.integrations._running import MakeSource, close_source, running_reporter
from loadmonitor_worker.interfaces import LoadSnapshotSource
from loadmonitor_worker.reporter import LoadReporter
from loadmonitor_worker.snapshot import RankSnapshot
from loadmonitor_worker.state import WorkerState, checked_state

_logger = logging.getLogger(__name__)


class ElectedReporter:
    """A worker process's part in one reporter for all of them; enter it with `async with` in each worker's lifespan.

    The process that holds the lock file `owner.lock` owns the reporter. The others listen on nothing, serve no router, read no
    source and don't import gRPC; each looks now and then whether the lock is free, which it is as soon as the owner closes
    or dies. Routers dial again and find the new owner on the same port. An owner that is stopped, rather than dead, keeps
    the lock: its routers see its reports age.

    Attributes:
        reporter: The running reporter where this process owns it, else None.
    """

    def __init__(
        self,
        config: ReporterConfig,
        make_source: MakeSource,
        directory: str | os.PathLike[str],
        *,
        retry_seconds: float = 0.5,
    ) -> None:
        """Prepare; nothing is started before it is entered.

        Args:
            config: Settings, the same in every process; `port=None` switches reporting off, and no file is then made.
            make_source: Makes the source when this process becomes the owner. It must tell the load of the whole engine,
                not of this process: SglangShmSource does. A source with `aclose` or `close` is closed after the reporter.
            directory: For the lock files; local to the machine, and this engine's alone.
            retry_seconds: How often a process that isn't the owner looks whether it can be, and the owner whether another
                process has set the engine's state; above 0.
        """
        self.reporter: LoadReporter | None = None
        self._config = config
        self._make_source = make_source
        self._files = OwnerFiles(Path(directory))
        self._retry_seconds = retry_seconds
        self._stack: AsyncExitStack | None = None
        self._complaint = ""
        self._told: str | None = None

    def update_expected_dp_ranks(self, dp_ranks: Collection[int]) -> None:
        """Replace the ranks that make a read complete, from whichever process the change reaches.

        The owner sees them at its next read, and repeats one in progress; an owner to come sees them too. They count instead
        of the source's until every process has left. Does nothing when reporting is off.

        Raises:
            ServingModeError: This process hasn't entered.
            ConfigError: No ranks, or one that isn't an integer of at least 0.
        """
        if self._config.port is None:
            return
        if self._stack is None:
            raise ServingModeError("the rank set of an elected reporter is told inside its `async with` block")
        self._files.publish_ranks(dp_ranks)

    def set_worker_state(self, state: WorkerState) -> None:
        """Tell routers where the engine stands, from whichever process the change reaches.

        The owner tells it at once where it is this process, else within `retry_seconds`; an owner to come tells it from its
        first report on. It counts until another is set, or every process has left. Does nothing when reporting is off.

        Raises:
            ServingModeError: This process hasn't entered.
            ConfigError: `state` isn't a `WorkerState`.
        """
        if self._config.port is None:
            return
        if self._stack is None:
            raise ServingModeError("the engine's state is told to an elected reporter inside its `async with` block")
        self._files.publish_state(checked_state(state))
        self._tell_state()

    async def __aenter__(self) -> Self:
        """Become the owner, or wait in the background to become it.

        Raises:
            ServingModeError: It was entered already.
            LoadReporterError: This process is the first owner, and its reporter can't start; as `start_load_reporter`.
            OSError: The directory can't be made or written.
        """
        if self._stack is not None:
            raise ServingModeError("this ElectedReporter was entered already: one a process is enough")
        async with AsyncExitStack() as stack:
            if self._config.port is not None:
                stack.enter_context(self._files.member())
                self._complaint = ""
                stack.callback(self._resign)
                if not await self._try_to_own(stack):
                    waiting = asyncio.create_task(self._wait_to_own(), name="loadmonitor-election")
                    stack.push_async_callback(_end, waiting)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the reporter where this process owns it, then free the lock for the next."""
        stack, self._stack = self._stack, None
        assert stack is not None
        await stack.aclose()

    async def _try_to_own(self, stack: AsyncExitStack) -> bool:
        async with AsyncExitStack() as trying:
            if not trying.enter_context(self._files.owner()):
                return False
            make_source = self._make_source
            self.reporter = await trying.enter_async_context(
                running_reporter(self._config, lambda: _WithPublishedRanks(make_source(), self._files))
            )
            assert self.reporter is not None
            _logger.info("process %d owns the load reporter on %s", os.getpid(), self.reporter.address)
            self._told = None
            self._tell_state()
            trying.push_async_callback(_end, asyncio.create_task(self._follow_state(), name="loadmonitor-state"))
            stack.push_async_exit(trying.pop_all())
        return True

    async def _wait_to_own(self) -> None:
        async with AsyncExitStack() as stack:
            while True:
                await asyncio.sleep(self._retry_seconds)
                try:
                    if await self._try_to_own(stack):
                        break
                except Exception as error:  # noqa: BLE001 - whatever keeps this process from owning, another may do without
                    # The lock is free again for others.
                    if str(error) != self._complaint:
                        self._complaint = str(error)
                        _logger.warning("process %d can't take the load reporter over: %s", os.getpid(), error)
            await asyncio.get_running_loop().create_future()

    async def _follow_state(self) -> None:
        while True:
            await asyncio.sleep(self._retry_seconds)
            self._tell_state()

    def _tell_state(self) -> None:
        published = self._files.state()
        if self.reporter is not None and published is not None and published != self._told:
            self._told = published
            self.reporter.set_worker_state(checked_state(published.partition(" ")[0]))

    def _resign(self) -> None:
        self.reporter = None


async def _end(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait([task])
    if not task.cancelled():
        task.result()


class _WithPublishedRanks:
    """A source whose rank set is the one that any process published, or else its own."""

    def __init__(self, source: LoadSnapshotSource, files: OwnerFiles) -> None:
        self._source = source
        self._files = files

    async def get_loads(self) -> Sequence[RankSnapshot]:
        return await self._source.get_loads()

    def expected_dp_ranks(self) -> frozenset[int]:
        published = self._files.ranks()
        return self._source.expected_dp_ranks() if published is None else published

    async def aclose(self) -> None:
        await close_source(self._source)
