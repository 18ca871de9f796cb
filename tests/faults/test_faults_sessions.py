"""An id that is stolen, and clocks that step: injected ones, never the machine's."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest
from case import Case
from processes import Router, Worker
from proxy import Proxy

from loadmonitor_router import Freshness, LoadMonitor, WorkerLoad, WorkerTarget
from loadmonitor_worker import LoadReporter, ReporterConfig, start_load_reporter
from loadmonitor_worker.interfaces import TimerHandle
from loadmonitor_worker.testing import FakeSource, ManualClock

pytestmark = pytest.mark.timeout(180)

URL = "http://worker"
HOUR_MS = 3_600_000
STEP_BACK, STEP_FORTH = "back by 1 h", "forward by 1 h"
STEPS = {STEP_BACK: -HOUR_MS, STEP_FORTH: HOUR_MS}


@pytest.mark.fault("another router registers under this router's id")
async def test_a_router_whose_id_was_stolen_says_so_and_comes_back_when_the_thief_leaves(case: Case) -> None:
    async with Worker.telling() as worker, Router.watching(worker.address) as router:
        await router.starts()
        async with Router.watching(worker.address) as thief:
            case.happens("a second router with the same id is started")
            await case.router_says(router, "missing", "SESSION_REPLACED", within=30)
            async with case.outcome(router="log: another router registers as r too", within=30):
                await router.complains("another router registers as r too")
            await case.worker_says(worker, "r", streams=1, within=30)
            async with case.outcome(router="the second router: missing: …SESSION_REPLACED…", within=40):
                await thief.says("missing", "SESSION_REPLACED", after_ns=case.since_ns)
            case.happens("the second router ends")
            await thief.kill()
            await case.router_says(router, "fresh", within=15)
            await case.worker_says(worker, "r", streams=1, within=15)


class SteppedClock(ManualClock):
    """A wall clock of one side: it can be stepped, while the monotonic time is the other side's too."""

    def __init__(self, common: ManualClock) -> None:
        super().__init__()
        self._common = common
        self.step_ms = 0

    def monotonic_ns(self) -> int:
        return self._common.monotonic_ns()

    def unix_ms(self) -> int:
        return self._common.unix_ms() + self.step_ms

    def call_at(self, when_ns: int, callback: Callable[[], None]) -> TimerHandle:
        return self._common.call_at(when_ns, callback)


@dataclass(slots=True)
class Pair:
    """Both sides in this process, on clocks that are moved by hand, with a proxy between them."""

    common: ManualClock
    workers: SteppedClock
    routers: SteppedClock
    engine: FakeSource
    proxy: Proxy
    monitor: LoadMonitor

    @property
    def load(self) -> WorkerLoad:
        return self.monitor.snapshot().workers[URL]

    async def until(self, freshness: Freshness, reason: str = "", *, reports: int = 0) -> WorkerLoad:
        """Let time pass until the snapshot says so, and so many reports have come."""
        first = self.load.connection.received
        while True:
            load = self.load
            told = load.freshness is freshness and reason in (load.reason or "")
            if told and load.connection.received >= first + reports:
                return load
            await self.common.advance(20)
            await asyncio.sleep(0.005)  # for the sockets


@asynccontextmanager
async def pair(*, max_unacked_reports: int | None = 1) -> AsyncIterator[Pair]:
    """Yield a pair whose router is fresh."""
    common = ManualClock()
    workers, routers = SteppedClock(common), SteppedClock(common)
    engine = FakeSource(workers)
    reporter: LoadReporter | None = await start_load_reporter(ReporterConfig(port=0), engine, clock=workers)
    assert reporter is not None
    async with reporter, Proxy(reporter.address) as proxy:
        monitor = LoadMonitor(
            router_id="r", report_interval_ms=100, clock=routers, max_unacked_reports=max_unacked_reports
        )
        async with monitor:
            monitor.reconcile([WorkerTarget(url=URL, reporter=proxy.address)])
            made = Pair(common, workers, routers, engine, proxy, monitor)
            await made.until(Freshness.FRESH, reports=3)
            yield made


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        pytest.param(
            STEP_BACK,
            "without a usable timestamp",
            marks=pytest.mark.fault("the worker's wall clock steps back by 1 h"),
            id="back",
        ),
        pytest.param(
            STEP_FORTH,
            "stale by 35",
            marks=pytest.mark.fault("the worker's wall clock steps forward by 1 h"),
            id="forward",
        ),
    ],
)
async def test_a_step_of_the_workers_clock_costs_no_freshness_and_hides_no_engine_that_stands_still(
    case: Case, step: str, reason: str
) -> None:
    async with pair() as both:
        before = both.workers.unix_ms()
        case.happens(f"the clock steps {step}")
        both.workers.step_ms = STEPS[step]
        async with case.outcome(router="fresh: report after report, on the same stream", within=20):
            load = await both.until(Freshness.FRESH, reports=5)
            assert load.connection.reconnects == 0
        case.happens("the engine stands still since before the step")
        both.engine.stamp_ms = before
        async with case.outcome(router=f"stale: …{reason}…", within=20):
            await both.until(Freshness.STALE, reason)


@pytest.mark.parametrize(
    "step",
    [
        pytest.param(
            STEP_BACK, marks=pytest.mark.fault("the router's wall clock steps back by 1 h, then the path freezes")
        ),
        pytest.param(
            STEP_FORTH, marks=pytest.mark.fault("the router's wall clock steps forward by 1 h, then the path freezes")
        ),
    ],
)
async def test_a_step_of_the_routers_clock_makes_no_old_report_look_new(case: Case, step: str) -> None:
    async with pair() as both:
        case.happens(f"the clock steps {step}")
        both.routers.step_ms = STEPS[step]
        async with case.outcome(router="fresh: report after report, on the same stream", within=20):
            load = await both.until(Freshness.FRESH, reports=5)
            assert load.connection.reconnects == 0
        case.happens("nothing is forwarded any more")
        both.proxy.freeze()
        frozen_ns = both.common.monotonic_ns()
        async with case.outcome(router="stale: …ms old…, within 3 s of monotonic time", within=20):
            await both.until(Freshness.STALE, "ms old")
            assert both.common.monotonic_ns() - frozen_ns <= 3_200_000_000
        both.proxy.thaw()


@pytest.mark.fault("a worker without acknowledgements steps its wall clock back by 1 h")
async def test_without_acknowledgements_a_step_makes_the_delay_unknown_and_the_stream_is_opened_anew(
    case: Case,
) -> None:
    async with pair(max_unacked_reports=None) as both:
        case.happens("the clock steps back by 1 h")
        both.workers.step_ms = -HOUR_MS
        async with case.outcome(router="missing: …the Worker's clock was stepped…", within=20):
            await both.until(Freshness.MISSING, "the Worker's clock was stepped")
        async with case.outcome(router="fresh", within=20):
            load = await both.until(Freshness.FRESH, reports=3)
            assert load.connection.reconnects == 1
