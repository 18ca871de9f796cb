"""A Worker's states as its routers act on them, over real gRPC; the clock is moved by hand."""

import asyncio
from collections.abc import Callable

import pytest

from loadmonitor_router import Freshness, LoadMonitor, NoWorkerError, WorkerLoad, WorkerTarget
from loadmonitor_router import WorkerState as SeenState
from loadmonitor_router.picking import LeastLoaded
from loadmonitor_worker import LoadReporter, ReporterConfig, WorkerState, start_load_reporter
from loadmonitor_worker.testing import FakeSource, ManualClock, rank

WAIT_SECONDS = 20
URL, OTHER = "http://10.0.0.1:30000", "http://10.0.0.2:30000"


async def started(clock: ManualClock, *, running: int = 0) -> tuple[LoadReporter, FakeSource]:
    source = FakeSource(clock)
    source.ranks = [rank(running=running)]
    reporter = await start_load_reporter(ReporterConfig(port=0), source, clock=clock)
    assert reporter is not None
    return reporter, source


async def seen(
    monitor: LoadMonitor, clock: ManualClock, condition: Callable[[WorkerLoad], bool], step_ms: float = 0
) -> WorkerLoad:
    """Let time go by in steps until the first worker is as it is waited for."""
    async with asyncio.timeout(WAIT_SECONDS):
        while not condition(load := monitor.snapshot().workers[URL]):
            await clock.advance(step_ms)
            await asyncio.sleep(0.001)  # frames are on their way, in another thread's hands
    return load


@pytest.mark.clause("STATE-2", "STATE-3")
async def test_a_router_picks_an_engine_again_as_soon_as_it_serves() -> None:
    clock = ManualClock()
    reporter, _ = await started(clock)
    picker = LeastLoaded()
    async with reporter, LoadMonitor(router_id="r", clock=clock) as monitor:
        monitor.reconcile([WorkerTarget(url=URL, reporter=reporter.address)])
        reporter.set_worker_state(WorkerState.PAUSED)
        paused = await seen(monitor, clock, lambda load: load.worker_state is SeenState.PAUSED)
        assert paused.freshness is Freshness.FRESH
        with pytest.raises(NoWorkerError, match="its engine is PAUSED"):
            picker.pick(monitor.snapshot(), [URL])
        reporter.set_worker_state(WorkerState.SERVING)
        await seen(monitor, clock, lambda load: load.worker_state is SeenState.SERVING, step_ms=50)
        assert picker.pick(monitor.snapshot(), [URL]).url == URL


@pytest.mark.clause("STATE-3", "STATE-4")
@pytest.mark.parametrize("window", [1, None])
async def test_a_worker_drains_under_a_real_router_and_is_not_picked_when_it_is_gone(window: int | None) -> None:
    clock = ManualClock()
    reporter, source = await started(clock, running=3)
    other, _ = await started(clock, running=900)
    async with reporter, other, LoadMonitor(router_id="r", clock=clock, max_unacked_reports=window) as monitor:
        monitor.reconcile(
            [WorkerTarget(url=URL, reporter=reporter.address), WorkerTarget(url=OTHER, reporter=other.address)]
        )
        await seen(monitor, clock, lambda load: load.freshness is Freshness.FRESH)
        draining = asyncio.create_task(reporter.drain(600))
        await seen(monitor, clock, lambda load: load.worker_state is SeenState.DRAINING, step_ms=50)
        assert LeastLoaded().pick(monitor.snapshot(), [URL, OTHER]).url == OTHER
        assert not draining.done()
        source.ranks = [rank(running=0)]
        gone = await seen(monitor, clock, lambda load: load.freshness is Freshness.MISSING, step_ms=50)
        assert (await draining).idle
        assert gone.reason == "SHUTTING_DOWN: this worker is shutting down"
        assert gone.worker_state is SeenState.DRAINING
        with pytest.raises(NoWorkerError, match="it left, DRAINING"):
            LeastLoaded().pick(monitor.snapshot(), [URL])
