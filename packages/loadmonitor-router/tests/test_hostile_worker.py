"""What a Worker that lies or rages can do to a router, and to the others: no more than be believed about itself."""

import logging
from contextlib import suppress

import grpc.aio
import pytest
from secure_worker import SecureWorker, States

from loadmonitor_router import ConnectionState, Freshness, LoadMonitor, MonitorClient, WorkerTarget
from loadmonitor_router.testing import ManualClock, wire_rank, wire_report

pytestmark = pytest.mark.usefixtures("leaves_nothing")


async def test_a_worker_that_reports_as_another_changes_nothing_of_the_other(clock: ManualClock) -> None:
    honest, liar = SecureWorker(), SecureWorker()
    async with honest, liar, LoadMonitor(router_id="r", clock=clock) as monitor:
        targets = [
            WorkerTarget(url=url, reporter=at.address) for url, at in (("http://a:1", honest), ("http://b:1", liar))
        ]
        monitor.reconcile(targets)
        for worker, busy in ((honest, 200), (liar, 1)):
            stream = await worker.accept()
            await stream.acknowledge()
            # The same instance, a later number, and the honest one's address: all of it is what the liar says of itself.
            report = wire_report(1 + (worker is liar), ranks=[wire_rank(num_running_reqs=busy)])
            report.worker.worker_addr = "http://a:1"
            await stream.report(report)
        async for fleet in monitor.changes():
            if all(load.freshness is Freshness.FRESH for load in fleet.workers.values()):
                break
        running = {url: load.report.ranks[0].num_running_reqs for url, load in fleet.workers.items() if load.report}
    assert running == {"http://a:1": 200, "http://b:1": 1}


async def test_a_worker_is_believed_about_its_own_load(clock: ManualClock) -> None:
    async with SecureWorker() as worker, MonitorClient(worker.address, router_id="r", clock=clock) as client:
        stream = await worker.accept()
        await stream.acknowledge()
        await stream.report(wire_report(1, ranks=[wire_rank(num_running_reqs=0, num_waiting_reqs=0)]))
        assert (await anext(client)).ranks[0].num_running_reqs == 0


async def test_what_a_worker_says_forges_no_line_of_the_routers_log(
    clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    states = States()
    async with (
        SecureWorker() as worker,
        MonitorClient(worker.address, router_id="r", on_connection=states.put_nowait, clock=clock),
    ):
        await (await worker.accept()).fail("NO\nINFO forged", "bye\nINFO forged\x1b[2J" + "x" * 5_000)
        lost = await states.until(ConnectionState.BACKING_OFF)
    assert "lost: NO\\nINFO forged: bye\\nINFO forged\\x1b[2Jx" in caplog.text
    assert "\nINFO forged" not in caplog.text
    assert len(lost.last_error or "") < 2_100


async def test_a_report_beyond_four_megabytes_ends_its_stream_and_is_not_kept(clock: ManualClock) -> None:
    states = States()
    async with (
        SecureWorker() as worker,
        MonitorClient(worker.address, router_id="r", on_connection=states.put_nowait, clock=clock) as client,
    ):
        stream = await worker.accept()
        await stream.acknowledge()
        with suppress(grpc.aio.BaseError):  # the stream may end before all of it was written
            await stream.report(wire_report(1, last_error="x" * 5_000_000))
        lost = await states.until(ConnectionState.BACKING_OFF)
        await stream.end()
        assert client.connection.received == 0
    assert "RESOURCE_EXHAUSTED" in (lost.last_error or "")
