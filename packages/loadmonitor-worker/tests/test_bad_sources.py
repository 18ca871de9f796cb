"""Sources that fail, hang or answer with nonsense, over real gRPC: what routers are told, and that nobody else is affected."""

import asyncio
import gc
import subprocess
import sys
import threading
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import pytest
from worker_bench import Bench, StartBench

from loadmonitor_proto import ReportStatus as Status
from loadmonitor_worker import RankSnapshot
from loadmonitor_worker.sources import CallableSource
from loadmonitor_worker.testing import FakeSource, ManualClock, rank

BUDGET_MS = 50
CLOSE_SECONDS = 10  # far above the 2 seconds that closing may take, for machines with much else to do


class Misbehaving(FakeSource):
    """Answers well until it is told to behave otherwise."""

    def __init__(self, clock: ManualClock, dp_size: int) -> None:
        super().__init__(clock, dp_size)
        self.behave: Callable[[], Awaitable[Any]] | None = None
        self.ranks_error: BaseException | None = None

    async def get_loads(self) -> Any:
        return await (super().get_loads() if self.behave is None else self.behave())

    def expected_dp_ranks(self) -> frozenset[int]:
        if self.ranks_error is not None:
            raise self.ranks_error
        return super().expected_dp_ranks()


def misbehaving(bench: Bench) -> Misbehaving:
    assert isinstance(bench.source, Misbehaving)
    return bench.source


@pytest.fixture(autouse=True)
async def _nothing_reaches_the_engine(caplog: pytest.LogCaptureFixture) -> AsyncIterator[None]:
    """Fail a test after which the event loop was told of an error, or anybody but the reporter logged."""
    told: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: told.append(context))
    yield
    gc.collect()  # a task that ended in an error tells of it when it is collected
    assert told == []
    assert [record for record in caplog.get_records("call") if not record.name.startswith("loadmonitor_worker")] == []
    assert caplog.records == []


# Failing at once


class PanicError(BaseException):
    """Not even an Exception."""


def raising(error: BaseException) -> Callable[[], Awaitable[Any]]:
    async def behave() -> Any:
        raise error

    return behave


def returning(make: Callable[[], Any]) -> Callable[[], Awaitable[Any]]:
    async def behave() -> Any:
        return make()

    return behave


async def yielding() -> AsyncIterator[RankSnapshot]:
    yield rank(0)


class Shrinking(list[RankSnapshot]):
    """Loses a rank while it is read."""

    def __iter__(self) -> Iterator[RankSnapshot]:
        for item in super().__iter__():
            yield item
            self.pop()


class Growing(list[RankSnapshot]):
    """Gains a rank for each that is read."""

    def __iter__(self) -> Iterator[RankSnapshot]:
        for item in super().__iter__():
            yield item
            self.append(rank(len(self)))


class Shared(deque[RankSnapshot]):
    """Another thread appends while it is read."""

    def __iter__(self) -> Iterator[RankSnapshot]:
        for item in super().__iter__():
            yield item
            self.append(item)


RANKS = [rank(0), rank(1)]
AT_ONCE: dict[str, tuple[Callable[[], Awaitable[Any]], str]] = {
    "RuntimeError": (raising(RuntimeError("boom")), "RuntimeError: boom"),
    "KeyboardInterrupt": (raising(KeyboardInterrupt()), "KeyboardInterrupt"),
    "GeneratorExit": (raising(GeneratorExit()), "GeneratorExit"),
    "CancelledError": (raising(asyncio.CancelledError()), "CancelledError"),
    "PanicError": (raising(PanicError("all is lost")), "PanicError: all is lost"),
    "a generator": (returning(lambda: (item for item in RANKS)), "'generator'"),
    "an async generator": (yielding, "async_generator"),  # type: ignore[dict-item]
    "None": (returning(lambda: None), "'NoneType'"),
    "a dict": (returning(lambda: dict(enumerate(RANKS))), "'dict'"),
    "a rank": (returning(lambda: RANKS[0]), "'RankSnapshot'"),
    "text": (returning(lambda: "ranks"), "'str'"),
    "a list that shrinks": (returning(lambda: Shrinking(RANKS)), "rank 1 missing"),
    "a list that grows": (returning(lambda: Growing(RANKS)), "rank 2 is not one of the 2"),
    "a deque that changes": (returning(lambda: Shared(RANKS)), "mutated during iteration"),
}


async def expect_unreachable_until_it_is_mended(
    bench: Bench, break_it: Callable[[], None], mend_it: Callable[[], None], named: str
) -> None:
    quick = await bench.registered("quick", interval_ms=100)
    slow = await bench.registered("slow", interval_ms=200)
    break_it()
    fires = bench.reporter.counters.fires
    for fire in range(1, 5):
        await bench.clock.advance(100)
        report = await quick.report()
        assert report.status == Status.REPORT_STATUS_UNREACHABLE
        assert named in report.last_error
        assert list(report.ranks) == []
        assert report.report_time_unix_ms - bench.clock.wall_offset_ms == 100 * fire
        assert bench.reporter.counters.fires == fires + fire
        if fire % 2 == 0:
            assert await slow.report() == report
    mend_it()
    await bench.clock.advance(100)
    assert (await quick.report()).status == Status.REPORT_STATUS_HEALTHY


@pytest.mark.clause("REPORT-1", "REPORT-3")
@pytest.mark.parametrize("kind", AT_ONCE)
async def test_a_source_that_fails_is_one_unreachable_report_a_fire_for_all_until_it_works_again(
    start: StartBench, kind: str
) -> None:
    bench = await start(dp_size=2, source_type=Misbehaving)
    source = misbehaving(bench)
    behave, named = AT_ONCE[kind]

    def set_to(behaviour: Callable[[], Awaitable[Any]] | None) -> None:
        source.behave = behaviour

    await expect_unreachable_until_it_is_mended(bench, lambda: set_to(behave), lambda: set_to(None), named)


@pytest.mark.clause("REPORT-1", "REPORT-3")
@pytest.mark.parametrize("error", [RuntimeError("boom"), KeyboardInterrupt(), asyncio.CancelledError(), PanicError()])
async def test_a_source_that_cannot_tell_its_ranks_is_unreachable_until_it_can(
    start: StartBench, error: BaseException
) -> None:
    bench = await start(dp_size=2, source_type=Misbehaving)
    source = misbehaving(bench)

    def set_to(error: BaseException | None) -> None:
        source.ranks_error = error

    await expect_unreachable_until_it_is_mended(
        bench, lambda: set_to(error), lambda: set_to(None), type(error).__name__
    )


# Hanging


class Hanging:
    """Hangs in one of three ways until it is released."""

    def __init__(self, kind: str) -> None:
        self._released = asyncio.Event()
        self._thread_released = threading.Event()
        self.in_thread = CallableSource(self._block, [0])
        self.behave: Callable[[], Awaitable[Any]] = {
            "waits": self._wait,
            "ignores cancellation": self._insist,
            "blocks its thread": self.in_thread.get_loads,
        }[kind]

    async def release(self) -> None:
        """Let it answer, and wait until it has."""
        self._released.set()
        self._thread_released.set()
        await Bench.seen(lambda: self.in_thread._thread._busy_since_ns is None)

    async def _wait(self) -> list[RankSnapshot]:
        await self._released.wait()
        return RANKS[:1]

    async def _insist(self) -> list[RankSnapshot]:
        while not self._released.is_set():
            try:
                await self._released.wait()
            except asyncio.CancelledError:
                continue
        return RANKS[:1]

    def _block(self) -> list[RankSnapshot]:
        self._thread_released.wait()
        return RANKS[:1]


@pytest.fixture(params=["waits", "ignores cancellation", "blocks its thread"])
async def hanging(request: pytest.FixtureRequest) -> AsyncIterator[Hanging]:
    """One way to hang; nothing hangs any more when the test is over."""
    hanging = Hanging(request.param)
    yield hanging
    await hanging.release()
    hanging.in_thread.close()


@pytest.mark.clause("REPORT-1", "REPORT-3", "LEASE-1")
async def test_a_source_that_hangs_is_one_unreachable_report_within_the_budget_until_it_answers(
    start: StartBench, hanging: Hanging
) -> None:
    bench = await start(source_type=Misbehaving, pull_budget_ms=BUDGET_MS)
    quick = await bench.registered("quick", interval_ms=100, lease_ms=10_000)
    slow = await bench.registered("slow", interval_ms=200)
    misbehaving(bench).behave = hanging.behave
    fires = bench.reporter.counters.fires
    for fire in range(1, 5):
        await bench.clock.advance(100 * fire - bench.clock.monotonic_ns() / 1e6)
        if fire == 1:  # the first read is under way
            newcomer = await bench.router()
            await newcomer.register("newcomer", interval_ms=60_000)
            await quick.keep_alive()
            await bench.seen(lambda: bench.lease_until_ms("quick") == 10_100)
        await bench.clock.advance(BUDGET_MS)
        report = await quick.report()
        assert report.status == Status.REPORT_STATUS_UNREACHABLE
        late_ms = report.report_time_unix_ms - bench.clock.wall_offset_ms - 100 * fire
        assert 0 <= late_ms <= BUDGET_MS
        assert bench.reporter.counters.fires == fires + fire
        if fire == 1:
            assert await newcomer.report() == report
        if fire % 2 == 0:
            assert await slow.report() == report
    await hanging.release()
    misbehaving(bench).behave = None
    await bench.clock.advance(100)
    assert (await quick.report()).status == Status.REPORT_STATUS_HEALTHY


@pytest.mark.clause("END-2")
@pytest.mark.parametrize("passes_ms", [0, BUDGET_MS], ids=["within its budget", "beyond its budget"])
async def test_a_source_that_hangs_does_not_hold_up_closing(
    start: StartBench, hanging: Hanging, passes_ms: int
) -> None:
    bench = await start(source_type=Misbehaving, pull_budget_ms=BUDGET_MS)
    misbehaving(bench).behave = hanging.behave
    router = await bench.router()
    await router.register(interval_ms=60_000)
    await bench.clock.advance(passes_ms)
    async with asyncio.timeout(CLOSE_SECONDS):
        await bench.reporter.close()
    while (frame := await router.receive()).WhichOneof("payload") == "report":
        assert frame.report.status == Status.REPORT_STATUS_UNREACHABLE
    assert frame.error.code == "SHUTTING_DOWN"
    assert not [task for task in asyncio.all_tasks() if task.get_name().startswith("loadmonitor-pull")]
    assert bench.clock.pending == []


# Ending the program

PROGRAM = """
import asyncio, sys, threading
import grpc.aio
from loadmonitor_proto import RegisterRequest, RouterFrame
from loadmonitor_proto.service import LoadMonitorStub
from loadmonitor_worker import ReporterConfig, start_load_reporter
from loadmonitor_worker.sources import CallableSource

entered = threading.Event()

class Source(CallableSource):
    def __init__(self, kind):
        super().__init__(getattr(self, kind, list), [0])
        self.kind = kind

    def expected_dp_ranks(self):
        if self.kind == "leave_when_asked_for_ranks":
            sys.exit(7)
        return super().expected_dp_ranks()

    def block(self):
        entered.set()
        threading.Event().wait()

    async def ignore_cancellation(self):
        entered.set()
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                pass

    def leave(self):
        sys.exit(7)

    async def leave_on_the_loop(self):
        sys.exit(7)

async def main(kind, end, budget_ms):
    reporter = await start_load_reporter(ReporterConfig(port=0, pull_budget_ms=budget_ms), Source(kind))
    async with grpc.aio.insecure_channel(reporter.address) as channel:
        try:
            stream = LoadMonitorStub(channel).Monitor()
            request = RegisterRequest(router_id="r", report_interval_ms=100, lease_ttl_ms=9_000)
            await stream.write(RouterFrame(register=request))
            await stream.read()
            while not entered.is_set():
                await asyncio.sleep(0)
            if end.endswith("beyond the budget"):
                assert (await stream.read()).report.last_error
        finally:
            if end.startswith("closes"):
                await reporter.close()
    print("main is done")

asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
"""


def run(kind: str, end: str, budget_ms: int) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", PROGRAM, kind, end, str(budget_ms)]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)


@pytest.mark.parametrize("kind", ["block", "ignore_cancellation"])
@pytest.mark.parametrize(
    ("end", "budget_ms"),
    [("closes", 500), ("closes beyond the budget", 10), ("ends", 500), ("ends beyond the budget", 10)],
)
def test_a_source_that_hangs_does_not_hold_up_the_programs_end(kind: str, end: str, budget_ms: int) -> None:
    done = run(kind, end, budget_ms)
    assert (done.returncode, done.stdout) == (0, "main is done\n"), done.stderr
    if end.startswith("closes"):
        told = "the engine's load is UNREACHABLE: the source did not answer within 10 ms\n"
        assert done.stderr == (told if "beyond" in end else "")
    # grpc.aio itself complains of a server that nobody stopped; of the reporter there is nothing to say.
    assert "Task" not in done.stderr


@pytest.mark.parametrize("kind", ["leave", "leave_on_the_loop", "leave_when_asked_for_ranks"])
def test_a_source_that_raises_system_exit_ends_the_program_with_its_status(kind: str) -> None:
    """SystemExit is no failure of the source but a decision about the program, so it passes; closing still works."""
    done = run(kind, "closes", 500)
    assert (done.returncode, done.stdout, done.stderr) == (7, "", "")
