"""`loadmonitor watch` over several Workers in one process: what is news, and when it ends."""

import asyncio
import os
import signal
from collections.abc import Sequence

import pytest

from loadmonitor_router import ConfigError, Freshness
from loadmonitor_router.cli._follow import Watch
from loadmonitor_router.cli._view import WorkerView
from loadmonitor_router.cli._workers import named
from loadmonitor_router.discovery import StaticDiscovery
from loadmonitor_router.testing import ManualClock, ScriptedStream, ScriptedWorker, wire_report

pytestmark = pytest.mark.usefixtures("leaves_nothing")


class Recorder:
    """An output that keeps what it is shown."""

    def __init__(self) -> None:
        self.news: asyncio.Queue[WorkerView] = asyncio.Queue()
        self.drawn = asyncio.Event()
        self.views: Sequence[WorkerView] = ()
        self.trouble: str | None = None
        self.closed = False

    def show(self, shown: WorkerView) -> None:
        self.news.put_nowait(shown)

    def draw(self, views: Sequence[WorkerView], trouble: str | None, /) -> None:
        self.views = views
        self.trouble = trouble
        self.drawn.set()

    def close(self) -> None:
        self.closed = True

    async def next(self) -> tuple[str, Freshness, str | None]:
        shown = await self.news.get()
        return shown.worker, shown.assessment.freshness, shown.assessment.reason


def fixed(*workers: ScriptedWorker) -> StaticDiscovery:
    return StaticDiscovery(named([worker.address for worker in workers]))


async def accepted(worker: ScriptedWorker) -> ScriptedStream:
    stream = await worker.accept()
    await stream.acknowledge()
    return stream


async def test_reports_losses_and_aging_are_news_and_growing_ages_are_not(clock: ManualClock) -> None:
    recorder = Recorder()
    async with ScriptedWorker() as worker:
        watch = Watch(fixed(worker), recorder, clock=clock)
        running = asyncio.create_task(watch.forever())
        stream = await accepted(worker)
        await stream.report(wire_report(1))
        assert await recorder.next() == (worker.address, Freshness.FRESH, None)
        clock.move(2_900)
        for _ in range(2):
            recorder.drawn.clear()
            await recorder.drawn.wait()
        assert recorder.news.empty()
        clock.move(100)
        stale = await recorder.next()
        assert stale == (worker.address, Freshness.STALE, "3020 ms old, fresh is up to 3000 ms")
        await stream.end()
        assert await recorder.next() == (worker.address, Freshness.MISSING, "the Worker ended the stream")
        clock.move(200)
        await (await accepted(worker)).report(wire_report(2))
        # The old report is gone with its connection: the next news is the new one.
        assert await recorder.next() == (worker.address, Freshness.FRESH, None)
        os.kill(os.getpid(), signal.SIGTERM)
        assert await running == 0
    assert recorder.closed


async def test_an_interrupt_ends_with_130(clock: ManualClock) -> None:
    async with ScriptedWorker() as worker:
        running = asyncio.create_task(Watch(fixed(worker), Recorder(), clock=clock).forever())
        await accepted(worker)
        os.kill(os.getpid(), signal.SIGINT)
        assert await running == 130


async def test_when_every_worker_has_refused_for_good_the_watch_ends_with_1(clock: ManualClock) -> None:
    recorder = Recorder()
    async with ScriptedWorker() as one, ScriptedWorker() as other:
        running = asyncio.create_task(Watch(fixed(one, other), recorder, clock=clock).forever())
        await (await one.accept()).fail("PERMISSION_DENIED", "not you")
        worker, freshness, reason = await recorder.next()
        assert (worker, freshness) == (one.address, Freshness.MISSING)
        assert reason == f"{one.address} refuses this router: PERMISSION_DENIED: not you"
        assert not running.done()
        await (await other.accept()).fail("PERMISSION_DENIED", "nor you")
        assert await running == 1


async def test_every_stream_of_every_watch_registers_under_an_id_of_its_own(clock: ManualClock) -> None:
    async with ScriptedWorker() as one, ScriptedWorker() as other:
        watches = [
            asyncio.create_task(
                Watch(workers, Recorder(), report_interval_ms=70, lease_ttl_ms=80, clock=clock).forever()
            )
            for workers in (fixed(one, other), fixed(one))
        ]
        registers = [(await accepted(worker)).register for worker in (one, one, other)]
        assert len({register.router_id for register in registers}) == 3
        assert {(register.report_interval_ms, register.lease_ttl_ms) for register in registers} == {(70, 80)}
        for watch in watches:
            watch.cancel()
        await asyncio.wait(watches)


def test_one_worker_under_two_spellings_is_refused() -> None:
    with pytest.raises(ConfigError, match="'WORKER:1' is there twice"):
        named(["worker:1", "WORKER:1"])
