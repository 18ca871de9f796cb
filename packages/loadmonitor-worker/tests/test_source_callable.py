"""CallableSource: any function, one call at a time, and no thread that outlives its use."""

import asyncio
import gc
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from functools import partial

import pytest

from loadmonitor_worker.errors import InvalidSnapshotError, SourceError, SourceUnavailableError
from loadmonitor_worker.snapshot import RankSnapshot
from loadmonitor_worker.sources import CallableSource

LOADS = [RankSnapshot(dp_rank=0, snapshot_time_unix_ms=1_000, num_running_reqs=3)]


class Gate:
    """A plain function that blocks until it is opened, and tells when it was entered."""

    def __init__(self) -> None:
        self.entered = threading.Semaphore(0)
        self.opened = threading.Event()

    def __call__(self) -> Sequence[RankSnapshot]:
        self.entered.release()
        self.opened.wait()
        return LOADS


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.opened.set()


async def answer_once_free(source: CallableSource) -> Sequence[RankSnapshot]:
    """The thread is free a moment after the function returned."""
    while True:
        try:
            return await source.get_loads()
        except SourceUnavailableError:
            await asyncio.sleep(0)


async def test_a_plain_function_runs_in_one_daemon_thread() -> None:
    seen: list[threading.Thread] = []

    def read() -> list[RankSnapshot]:
        seen.append(threading.current_thread())
        return LOADS

    source = CallableSource(read, [0])
    assert await source.get_loads() == LOADS
    assert await source.get_loads() == LOADS
    assert seen[0] is seen[1]
    assert seen[0] is not threading.current_thread()
    assert seen[0].daemon
    source.close()


async def test_an_async_function_runs_on_the_event_loop_that_pulls() -> None:
    seen: list[asyncio.AbstractEventLoop] = []

    async def read(loads: list[RankSnapshot]) -> list[RankSnapshot]:
        seen.append(asyncio.get_running_loop())
        return loads

    source = CallableSource(partial(read, LOADS), range(1))
    assert await source.get_loads() == LOADS
    assert seen == [asyncio.get_running_loop()]


async def test_a_plain_function_may_return_an_awaitable() -> None:
    async def read() -> list[RankSnapshot]:
        return LOADS

    source = CallableSource(lambda: read(), {0})  # noqa: PLW0108 - that it isn't the coroutine function is the point
    assert await source.get_loads() == LOADS
    source.close()


def test_the_expected_ranks_are_those_given() -> None:
    assert CallableSource(list, range(3)).expected_dp_ranks() == frozenset({0, 1, 2})


async def test_a_call_that_still_runs_makes_the_next_one_fail_as_busy(gate: Gate) -> None:
    source = CallableSource(gate, [0])
    first = asyncio.ensure_future(source.get_loads())
    await asyncio.to_thread(gate.entered.acquire)
    with pytest.raises(SourceUnavailableError, match=r"^previous call has been running for \d+ ms$") as caught:
        await source.get_loads()
    assert caught.value.reason == "busy"
    gate.opened.set()
    assert await first == LOADS
    source.close()


async def test_a_call_whose_caller_gave_up_leaves_the_source_usable(gate: Gate) -> None:
    source = CallableSource(gate, [0])
    abandoned = asyncio.ensure_future(source.get_loads())
    await asyncio.to_thread(gate.entered.acquire)
    abandoned.cancel()
    with pytest.raises(asyncio.CancelledError):
        await abandoned
    with pytest.raises(SourceUnavailableError, match="previous call"):
        await source.get_loads()
    gate.opened.set()
    assert await answer_once_free(source) == LOADS
    source.close()


async def test_a_call_cancelled_before_its_thread_took_it_leaves_the_source_usable() -> None:
    source = CallableSource(lambda: LOADS, [0])
    for _ in range(200):
        abandoned = asyncio.ensure_future(source.get_loads())
        await asyncio.sleep(0)
        abandoned.cancel()
        await asyncio.wait([abandoned])
        assert await answer_once_free(source) == LOADS
    source.close()


async def test_cancelling_a_pull_cancels_the_async_function() -> None:
    started = asyncio.Event()
    cancelled = asyncio.Event()

    async def read() -> list[RankSnapshot]:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return LOADS

    pull = asyncio.ensure_future(CallableSource(read, [0]).get_loads())
    await started.wait()
    pull.cancel()
    with pytest.raises(asyncio.CancelledError):
        await pull
    assert cancelled.is_set()


@pytest.mark.parametrize(
    "error", [KeyError("x"), StopIteration(), KeyboardInterrupt(), GeneratorExit(), asyncio.CancelledError()]
)
async def test_what_a_plain_function_raises_arrives_as_a_source_error(error: BaseException) -> None:
    def read() -> list[RankSnapshot]:
        raise error

    source = CallableSource(read, [0])
    with pytest.raises(SourceError, match=f"read raised {type(error).__name__}") as caught:
        await source.get_loads()
    assert caught.value.__cause__ is error
    with pytest.raises(SourceError):
        await source.get_loads()
    source.close()


async def test_an_error_that_has_no_text_leaves_the_thread_usable() -> None:
    class WordlessError(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no text")

    def read() -> list[RankSnapshot]:
        raise WordlessError

    source = CallableSource(read, [0])
    for _ in range(2):
        async with asyncio.timeout(5):
            with pytest.raises(SourceError, match="read raised WordlessError"):
                await source.get_loads()
    source.close()


@pytest.mark.parametrize("error", [KeyError("x"), asyncio.CancelledError()])
async def test_what_an_async_function_raises_arrives_as_a_source_error(error: BaseException) -> None:
    async def read() -> list[RankSnapshot]:
        raise error

    with pytest.raises(SourceError, match=f"read raised {type(error).__name__}") as caught:
        await CallableSource(read, [0]).get_loads()
    assert caught.value.__cause__ is error


async def test_a_source_error_of_the_function_arrives_unchanged() -> None:
    error = InvalidSnapshotError("rank 4 is odd", dp_rank=4)

    def read() -> list[RankSnapshot]:
        raise error

    source = CallableSource(read, [0])
    with pytest.raises(InvalidSnapshotError) as caught:
        await source.get_loads()
    assert caught.value is error
    source.close()


def test_system_exit_of_the_function_ends_the_program_that_awaits_it() -> None:
    source = CallableSource(lambda: sys.exit(7), [0])
    with pytest.raises(SystemExit) as caught:
        asyncio.run(answer_once_free(source))
    assert caught.value.code == 7
    source.close()


def test_a_source_serves_several_event_loops_in_turn(gate: Gate) -> None:
    source = CallableSource(gate, [0])

    async def give_up() -> None:
        asyncio.ensure_future(source.get_loads())  # noqa: RUF006 - the loop closes over a call in flight
        await asyncio.to_thread(gate.entered.acquire)

    asyncio.run(give_up())
    gate.opened.set()
    for _ in range(3):
        assert asyncio.run(answer_once_free(source)) == LOADS
    source.close()


async def test_a_closed_source_refuses_and_its_thread_ends() -> None:
    threads: list[threading.Thread] = []

    def read() -> list[RankSnapshot]:
        threads.append(threading.current_thread())
        return LOADS

    source = CallableSource(read, [0])
    await source.get_loads()
    source.close()
    source.close()
    threads[0].join()
    with pytest.raises(SourceUnavailableError, match="closed") as caught:
        await source.get_loads()
    assert caught.value.reason == "closed"


async def test_close_returns_at_once_while_a_call_hangs(gate: Gate) -> None:
    source = CallableSource(gate, [0])
    pull = asyncio.ensure_future(source.get_loads())
    await asyncio.to_thread(gate.entered.acquire)
    source.close()
    assert not pull.done()
    gate.opened.set()
    assert await pull == LOADS


async def test_a_source_dropped_without_closing_ends_its_thread() -> None:
    threads: list[threading.Thread] = []

    def read() -> list[RankSnapshot]:
        threads.append(threading.current_thread())
        return LOADS

    source = CallableSource(read, [0])
    await source.get_loads()
    del source
    gc.collect()
    threads[0].join()


def test_a_call_that_never_returns_does_not_hold_up_the_interpreters_exit() -> None:
    program = """
import asyncio, threading
from loadmonitor_worker.sources import CallableSource
entered = threading.Event()
def hang():
    entered.set()
    threading.Event().wait()
async def main():
    pull = asyncio.ensure_future(CallableSource(hang, [0]).get_loads())
    while not entered.is_set():
        await asyncio.sleep(0)
asyncio.run(main())
print("main is done")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "main is done\n", "")
