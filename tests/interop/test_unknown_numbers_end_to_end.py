"""An engine that doesn't tell its tokens, from its source to a router's pick, over real gRPC."""

import asyncio
from dataclasses import replace

import pytest

from loadmonitor_proto import UNKNOWABLE_FIELDS
from loadmonitor_router import Freshness, LoadMonitor, WorkerTarget
from loadmonitor_router.picking import LeastLoaded
from loadmonitor_worker import ReporterConfig, start_load_reporter
from loadmonitor_worker.testing import FakeSource, ManualClock, rank

WAIT_SECONDS = 20
VLLM, SGLANG = "http://10.0.0.1:30000", "http://10.0.0.2:30000"


@pytest.mark.clause("REPORT-7", "REPORT-8")
async def test_a_router_knows_what_an_engine_does_not_tell_and_picks_by_its_requests() -> None:
    clock = ManualClock()
    silent, telling = FakeSource(clock), FakeSource(clock)
    nothing = dict.fromkeys(UNKNOWABLE_FIELDS.values())
    silent.ranks = [
        replace(rank(running=500, waiting=40), prefill_throughput=1_000.0, **nothing)  # type: ignore[arg-type] # the names stand in the contract
    ]
    telling.ranks = [replace(rank(running=600, waiting=0), token_usage=0.3, prefill_throughput=1_000.0)]
    reporters = [await start_load_reporter(ReporterConfig(port=0), source, clock=clock) for source in (silent, telling)]
    first, second = reporters
    assert first is not None
    assert second is not None
    async with first, second, LoadMonitor(router_id="r", clock=clock) as monitor:
        monitor.reconcile(
            [WorkerTarget(url=VLLM, reporter=first.address), WorkerTarget(url=SGLANG, reporter=second.address)]
        )
        async with asyncio.timeout(WAIT_SECONDS):
            async for fleet in monitor.changes():
                if all(load.freshness is Freshness.FRESH for load in fleet.workers.values()):
                    break
        unknown, known = fleet.workers[VLLM], fleet.workers[SGLANG]
        assert unknown.report is not None
        assert known.report is not None
        assert [getattr(unknown.report.ranks[0], name) for name in UNKNOWABLE_FIELDS.values()] == [None] * 6
        assert None not in [getattr(known.report.ranks[0], name) for name in UNKNOWABLE_FIELDS.values()]
        assert (unknown.queue_pressure_seconds, known.queue_pressure_seconds) == ({0: None}, {0: 0.0})
        assert unknown.aggregate is not None
        assert (unknown.aggregate.num_waiting_reqs, unknown.aggregate.num_used_tokens) == (40, None)
        # Read as zero, the silent engine's 0.27 would have been the lower score.
        choice = LeastLoaded().pick(fleet, [VLLM, SGLANG])
        assert choice.url == SGLANG
        assert choice.score == pytest.approx(0.45)
