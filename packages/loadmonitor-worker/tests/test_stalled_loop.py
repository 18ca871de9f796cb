"""An event loop that really stood still: real time, because what lies unread in gRPC then is the point."""

import asyncio
import time

import grpc.aio
import pytest
from worker_bench import Bench, Router

from loadmonitor_proto.service import LoadMonitorStub
from loadmonitor_worker import ReporterConfig, start_load_reporter
from loadmonitor_worker.sources import SyntheticSource


@pytest.mark.clause("LEASE-1", "LEASE-2")
@pytest.mark.parametrize("late_ms", [5, 25, 150])
@pytest.mark.parametrize("sends", [True, False])
async def test_what_was_received_while_the_loop_stood_still_counts_before_a_lease_is_judged(
    sends: bool, late_ms: int
) -> None:
    reporter = await start_load_reporter(ReporterConfig(port=0), SyntheticSource(1))
    assert reporter is not None
    async with reporter, grpc.aio.insecure_channel(reporter.address) as channel:
        router = Router(LoadMonitorStub(channel).Monitor())
        await router.register(interval_ms=60_000, lease_ms=300)
        await router.report()
        session = reporter._server._monitor._table.holder("r")
        assert session is not None
        ends_ns = session.lease_until_ns

        def stand_still() -> None:
            assert session.lease_until_ns == ends_ns, "the keep-alive was read before"
            time.sleep((ends_ns - time.monotonic_ns()) / 1e9 + late_ms / 1_000)

        keeping_alive = asyncio.create_task(router.keep_alive() if sends else asyncio.sleep(0))
        asyncio.get_running_loop().call_soon(stand_still)
        await keeping_alive
        await Bench.seen(lambda: session.ended or session.lease_until_ns > ends_ns)
        assert session.ended is not sends
        if not sends:
            error = await router.ended()
            assert error is not None
            assert error.code == "LEASE_EXPIRED"
