"""Routers that stop reading: what they find when they resume, and that nobody else notices."""

import asyncio

import pytest
from worker_bench import LEASE_GRACE_MS, Bench, Router, StartBench, register

from loadmonitor_proto import LoadReport, RouterFrame, UpdateConfigRequest

MANY_RANKS = 2_000  # about 150 kB a report, so that a connection's buffers fill after a few dozen
FOR_GOOD = 50
"""Fires in a row that find the report before still waiting: by then it isn't gRPC's thread that waits for a processor."""
FIRST_AGES = (10_000, 9_950)
"""Age of the first report; on a busy machine the stream is open only at its second deadline."""


async def block(bench: Bench, router_id: str = "stalled", *, lease_ms: int = 60_000) -> Router:
    """Register a router that reads nothing more, and fire until a write to it blocks."""
    router = await bench.router()
    await router.register(router_id, interval_ms=10, lease_ms=lease_ms)
    waited = 0
    for _ in range(1_000):
        await bench.clock.advance(10)
        waited = waited + 1 if bench.report_waits(router_id) else 0
        if waited == FOR_GOOD:
            return router
        await asyncio.sleep(0.002 if waited else 0)
    raise AssertionError("the write never blocked")


async def read_to_the_error(router: Router) -> tuple[list[LoadReport], str]:
    """Read on, and return the reports that were on their way and the code of the error that ends the stream."""
    reports = []
    while (frame := await router.receive()).WhichOneof("payload") == "report":
        reports.append(frame.report)
    assert await router.ended() is None
    return reports, frame.error.code


async def stall_10_seconds_at_20_hz(bench: Bench, window: int | None) -> list[int]:
    """Stall a router, resume, and return the ages in milliseconds of the reports built before it resumed."""
    router = await bench.router()
    await router.register(interval_ms=50, window=window)
    for _ in range(200):
        await bench.clock.advance(50)
        await bench.seen(lambda: not bench.report_waits())
    resumed_ms = bench.clock.unix_ms()
    ages: list[int] = []
    await bench.clock.advance(50)  # at once, before any acknowledgement
    while True:
        report = await router.report()
        if report.report_time_unix_ms > resumed_ms:
            return ages
        ages.append(resumed_ms - report.report_time_unix_ms)
        if len(ages) == window:
            await bench.acknowledge(router, report.sequence_id)
            await bench.clock.advance(50)


@pytest.mark.clause("ACK-1", "ACK-2")
@pytest.mark.parametrize("window", [1, 2, 5])
async def test_an_acknowledging_router_that_stalls_is_handed_as_many_old_reports_as_it_granted_and_then_a_new_one(
    start: StartBench, window: int
) -> None:
    ages = await stall_10_seconds_at_20_hz(await start(dp_size=8), window)
    assert ages == [ages[0] - 50 * number for number in range(window)]
    assert ages[0] in FIRST_AGES


async def test_without_acknowledgements_a_stalled_router_is_handed_a_backlog(start: StartBench) -> None:
    """The control: latest-wins on the Worker can't bound what flow control and sockets hold."""
    ages = await stall_10_seconds_at_20_hz(await start(dp_size=8), None)
    assert ages == list(range(ages[0], -1, -50))
    assert ages[0] in FIRST_AGES


@pytest.mark.clause("REPORT-6", "LEASE-2")
async def test_a_lease_expires_on_a_blocked_stream_and_the_router_is_told_when_it_reads_again(
    start: StartBench,
) -> None:
    bench = await start(dp_size=MANY_RANKS)
    router = await block(bench)
    fired = bench.reporter.counters.fires
    await router.send(RouterFrame(update_config=UpdateConfigRequest(report_interval_ms=100_000, lease_ttl_ms=5_000)))
    now_ms = bench.clock.monotonic_ns() / 1e6
    await bench.seen(lambda: bench.lease_until_ms("stalled") == now_ms + 5_000)
    await bench.clock.advance(5_000 + LEASE_GRACE_MS)
    assert bench.clock.pending == []
    assert bench.open_streams() == 1
    await bench.clock.advance(200_000)
    reports, code = await read_to_the_error(router)
    assert code == "LEASE_EXPIRED"
    assert reports[-1].sequence_id < fired
    await bench.seen(lambda: bench.open_streams() == 0)


@pytest.mark.clause("CHANGE-1", "REPORT-6")
async def test_a_repeated_register_while_a_report_waits_does_not_stop_the_reports(start: StartBench) -> None:
    bench = await start(dp_size=MANY_RANKS)
    router = await block(bench)
    await router.send(register("stalled", interval_ms=10, lease_ms=70_000, window=1))
    now_ms = bench.clock.monotonic_ns() / 1e6
    await bench.seen(lambda: bench.lease_until_ms("stalled") == now_ms + 70_000)
    fired = bench.reporter.counters.fires
    await bench.clock.advance(20)
    assert bench.reporter.counters.fires == fired + 2


async def test_a_replaced_session_on_a_blocked_stream_counts_until_its_stream_has_closed(start: StartBench) -> None:
    bench = await start(dp_size=MANY_RANKS, max_sessions=1)
    blocked = await block(bench, "r")
    newer = await bench.router()
    await newer.register("r", interval_ms=100_000, lease_ms=100_000)
    await newer.report()
    third = await bench.router()
    await third.send(register("another"))
    refused = await third.ended()
    assert refused is not None
    assert refused.code == "RESOURCE_EXHAUSTED"
    assert (await read_to_the_error(blocked))[1] == "SESSION_REPLACED"


async def test_closing_cuts_off_a_router_that_does_not_read(start: StartBench) -> None:
    bench = await start(dp_size=MANY_RANKS)
    await block(bench)
    reading = await bench.router()
    await reading.register("reading", interval_ms=100_000)
    closing = asyncio.create_task(bench.reporter.close())
    error = await reading.ended()
    assert error is not None
    assert error.code == "SHUTTING_DOWN"
    async with asyncio.timeout(3):
        await closing
    assert bench.open_streams() == 0


async def test_a_router_that_dies_on_a_blocked_stream_leaves_nothing(
    start: StartBench, caplog: pytest.LogCaptureFixture
) -> None:
    bench = await start(dp_size=MANY_RANKS)
    router = await block(bench)
    router.call.cancel()
    await bench.seen(lambda: bench.open_streams() == 0)
    await bench.seen(lambda: not bench.reporter._server._servicer.reading)
    assert bench.clock.pending == []
    assert caplog.records == []
