"""A function of the engine's own as a source."""

import asyncio
import inspect
import queue
import threading
import time
import weakref
from collections.abc import Awaitable, Callable, Collection, Sequence
from concurrent.futures import Future
from functools import partial
from typing import TypeAlias

from loadmonitor_worker._describe import text_of
from loadmonitor_worker.errors import SourceError, SourceUnavailableError
from loadmonitor_worker.snapshot import RankSnapshot

_Loads: TypeAlias = Sequence[RankSnapshot]
_Answer: TypeAlias = _Loads | Awaitable[_Loads]
_Function: TypeAlias = Callable[[], _Answer]
_Job: TypeAlias = tuple[_Function, "Future[_Answer]"]


class CallableSource:
    """Calls a function for each pull.

    An async function runs on the event loop that pulls, and is cancelled with the pull. A plain function runs in one
    daemon thread that belongs to this source: at most one call is in flight, a caller that gives up leaves its call to end
    by itself, and neither a call that hangs nor a source that nobody closed holds up the interpreter's exit. The source
    may be used from several event loops in turn.

    Args:
        function: Returns the load of every rank, or an awaitable of it.
        expected_dp_ranks: The ranks of a complete answer.
    """

    def __init__(self, function: _Function, expected_dp_ranks: Collection[int]) -> None:
        self._function = function
        self._expected_dp_ranks = frozenset(expected_dp_ranks)
        self._runs_on_loop = inspect.iscoroutinefunction(function)
        self._thread = _CallThread()
        # Also ends the thread of a source that is dropped without being closed.
        self._end_thread = weakref.finalize(self, self._thread.end)
        self._end_thread.atexit = False

    async def get_loads(self) -> Sequence[RankSnapshot]:
        """Return what the function returns.

        Raises:
            SourceUnavailableError: The source is closed (`closed`), or the previous call still runs (`busy`).
            SourceError: The function raised; the message says what. A SourceError of the function's own and SystemExit
                pass through unchanged, and so does KeyboardInterrupt from an async function, where it is the user's.
        """
        if not self._end_thread.alive:
            raise SourceUnavailableError("closed", "the source was closed: make a new one to read again")
        try:
            answer = self._function() if self._runs_on_loop else await self._thread.call(self._function)
            return await answer if isinstance(answer, Awaitable) else answer
        except SourceError:
            raise
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            raise _failure(self._function, error) from error
        except Exception as error:
            raise _failure(self._function, error) from error

    def expected_dp_ranks(self) -> frozenset[int]:
        """Return the ranks given at construction."""
        return self._expected_dp_ranks

    def close(self) -> None:
        """Refuse further pulls and let the thread end after the call it is in; returns at once, may be repeated."""
        self._end_thread()


class _CallThread:
    """Runs one call at a time for whichever event loop asks; knows nothing of the source, which may be dropped."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._busy_since_ns: int | None = None
        self._thread: threading.Thread | None = None

    def call(self, function: _Function) -> "asyncio.Future[_Answer]":
        """Start a call and return its outcome, which may be cancelled or forgotten at any time."""
        with self._lock:
            if self._busy_since_ns is not None:
                running_ms = (time.monotonic_ns() - self._busy_since_ns) // 1_000_000
                raise SourceUnavailableError("busy", f"previous call has been running for {running_ms} ms")
            # A fork leaves the thread behind in the parent.
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="loadmonitor-source", daemon=True)
                self._thread.start()
            self._busy_since_ns = time.monotonic_ns()
        outcome: Future[_Answer] = Future()
        self._jobs.put((function, outcome))
        return asyncio.wrap_future(outcome)

    def end(self) -> None:
        """Let the thread end once it is idle."""
        self._jobs.put(None)

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            self._serve(*job)
            del job  # the next wait may be long, and the outcome large

    def _serve(self, function: _Function, outcome: "Future[_Answer]") -> None:
        deliver: Callable[[], None] | None = None
        if outcome.set_running_or_notify_cancel():
            try:
                deliver = partial(outcome.set_result, _call(function))
            except (SourceError, SystemExit) as error:
                deliver = partial(outcome.set_exception, error)
        # Before the outcome arrives, so that its receiver may call again at once.
        with self._lock:
            self._busy_since_ns = None
        if deliver is not None:
            deliver()


def _call(function: _Function) -> _Answer:
    try:
        return function()
    except (SourceError, SystemExit):
        raise
    except BaseException as error:
        raise _failure(function, error) from error


def _failure(function: _Function, error: BaseException) -> SourceError:
    name = getattr(function, "__qualname__", repr(function))
    return SourceError(f"{name} raised {type(error).__name__}: {text_of(error)}")
