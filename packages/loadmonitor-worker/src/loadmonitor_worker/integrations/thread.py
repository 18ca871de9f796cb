"""A reporter on an event loop and thread of its own."""

import asyncio
import atexit
import inspect
import logging
import threading
from collections.abc import Callable, Collection, Coroutine
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, overload

from loadmonitor_worker.config import ReporterConfig
from loadmonitor_worker.errors import ServingModeError
from loadmonitor_worker.integrations._running import MakeSource, running_reporter
from loadmonitor_worker.reporter import LoadReporter

if TYPE_CHECKING:
    from loadmonitor_worker._fire import ReporterCounters

_logger = logging.getLogger(__name__)
_T = TypeVar("_T")

STOP_SECONDS = 10.0
"""How long `stop` waits: a reporter closes within about 2 seconds, the rest is its source's."""

_END_SECONDS = 5.0
"""How long tasks that are left may take to end."""


class ReporterThread:
    """Reports from a thread with an event loop of its own, for engines without one, and for those whose loop may stand still.

    Use it as a context manager, plain or async, or call `start` and `stop`. The source is made, read and closed on that
    thread, so it must not belong to the engine's event loop: take CallableSource with a plain function, SglangShmSource or
    SglangHttpSource, not ManagerSource.

    A program that ends without `stop` is stopped at the interpreter's exit, so routers are told; one that is killed by a
    signal it doesn't handle isn't. A forked child holds a reporter that doesn't run, with neither its port nor its
    routers. With gRPC in the parent it needs `GRPC_ENABLE_FORK_SUPPORT=0` to live, see the project's docs/serving-modes.md.

    Attributes:
        address: Where it listens, `host:port`; None before the start and when reporting is off.
        failure: What ended the thread after its start, if anything but `stop` did; it was logged too.
    """

    def __init__(self, config: ReporterConfig, make_source: MakeSource) -> None:
        """Prepare; nothing is started, and nothing imported, before `start`.

        Args:
            config: Settings; `port=None` switches reporting off: there is then no thread either.
            make_source: Makes the source, on the thread. A source with `aclose` or `close` is closed after the reporter.
        """
        self.address: str | None = None
        self.failure: BaseException | None = None
        self._config = config
        self._make_source = make_source
        self._thread: threading.Thread | None = None
        self._started: Future[LoadReporter] = Future()
        self._ended: Future[None] = Future()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping = asyncio.Event()
        self._reporter: LoadReporter | None = None

    @property
    def running(self) -> bool:
        """Whether the thread reports; False in a forked child."""
        return self._thread is not None and self._thread.is_alive()

    @property
    def counters(self) -> "ReporterCounters | None":
        """What the reporter has done since it started; None before the start and when reporting is off."""
        return None if self._reporter is None else self._reporter.counters

    def start(self) -> None:
        """Start, and return when the reporter listens; does nothing when reporting is off.

        Raises:
            ServingModeError: It was started before.
            LoadReporterError: The reporter can't start; as `start_load_reporter`. The thread has ended.
            Exception: Whatever `make_source` raised.
        """
        if self._config.port is None:
            return
        if self._thread is not None:
            raise ServingModeError("this ReporterThread was started before: make a new one")
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, args=[self._loop], name="loadmonitor-reporter", daemon=True)
        self._thread.start()
        atexit.register(self.stop)
        try:
            self._reporter = self._started.result()
        except BaseException:
            self.stop()
            raise
        self.address = self._reporter.address

    def stop(self) -> None:
        """Tell routers SHUTTING_DOWN, free the port, close the source and end the thread; harmless when repeated.

        Gives up on a source that takes more than 10 seconds to close, with a warning.
        """
        atexit.unregister(self.stop)
        if self._loop is None or self._thread is None or not self._thread.is_alive():
            return
        with suppress(RuntimeError):  # the thread may be closing its loop at this moment
            self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(STOP_SECONDS)
        if self._thread.is_alive():
            _logger.warning("the load reporter's thread has not ended within %g s: its source hangs", STOP_SECONDS)

    @overload
    def call(self, function: Callable[[LoadReporter], Coroutine[Any, Any, _T]]) -> _T: ...
    @overload
    def call(self, function: Callable[[LoadReporter], _T]) -> _T: ...
    def call(self, function: Callable[[LoadReporter], Any]) -> Any:
        """Call `function` with the reporter on its thread, where alone its other methods may be called; wait for the result.

        What an async function returns is awaited there. An exception of the function is raised here.

        Raises:
            ServingModeError: The reporter isn't running, ended before the function did, or this is its own thread.
        """
        loop, reporter = self._loop, self._reporter
        if loop is None or reporter is None or not self.running:
            raise ServingModeError("no load reporter runs on this ReporterThread: look at `running` before")
        if self._thread is threading.current_thread():
            raise ServingModeError("this is the reporter's own thread, which would wait for itself")

        async def run() -> Any:
            result = function(reporter)
            return await result if inspect.isawaitable(result) else result

        running = run()
        try:
            outcome = asyncio.run_coroutine_threadsafe(running, loop)
        except RuntimeError:  # the loop was closed at this moment
            running.close()
        else:
            wait([outcome, self._ended], return_when=FIRST_COMPLETED)
            if outcome.done() and not outcome.cancelled():
                return outcome.result()
        raise ServingModeError("the load reporter was stopped before the call ended")

    def update_expected_dp_ranks(self, dp_ranks: Collection[int]) -> None:
        """Replace the ranks that make a read complete, from any thread; does nothing when reporting is off.

        Raises:
            ConfigError: No ranks, or one that isn't an integer of at least 0.
        """
        if self._reporter is not None:
            self._reporter.update_expected_dp_ranks(dp_ranks)

    def __enter__(self) -> Self:
        """Start and return this thread."""
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop."""
        self.stop()

    async def __aenter__(self) -> Self:
        """Start without blocking the event loop and return this thread."""
        await asyncio.to_thread(self.start)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop without blocking the event loop."""
        await asyncio.to_thread(self.stop)

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        serving = loop.create_task(self._serve(), name="loadmonitor-thread")
        try:
            loop.run_until_complete(serving)
        except BaseException as error:
            if self._started.done():
                self.failure = error
                _logger.exception("the load reporter's thread ended: nothing is reported any more")
            else:
                self._started.set_exception(error)
        finally:
            _end(loop, serving)
            self._ended.set_result(None)

    async def _serve(self) -> None:
        async with running_reporter(self._config, self._make_source) as reporter:
            assert reporter is not None
            self._started.set_result(reporter)
            await self._stopping.wait()


def _end(loop: asyncio.AbstractEventLoop, serving: asyncio.Task[None]) -> None:
    # Not asyncio.run: that waits without limit for a source's calls in threads, and can't run at the interpreter's exit.
    # A source that raised SystemExit tore the loop down; the reporter still says goodbye, before what it consists of ends.
    for tasks in ({serving}, asyncio.all_tasks(loop)):
        for task in tasks:
            task.cancel()
        if tasks:
            loop.run_until_complete(asyncio.wait(tasks, timeout=_END_SECONDS))
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()
