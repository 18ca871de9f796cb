"""The Router that the package ships for tests: what it says, what it hears, and what it complains of."""

import subprocess
import sys

import grpc
import pytest
from worker_bench import Bench

from loadmonitor_proto import KeepAlive, RouterFrame
from loadmonitor_worker.testing import ScriptedRouter


async def test_it_registers_takes_reports_acknowledges_and_stops(bench: Bench) -> None:
    async with ScriptedRouter(bench.reporter.address) as router:
        granted = await router.register("a", report_interval_ms=5, lease_ttl_ms=9_000, max_unacked_reports=1)
        assert (granted.report_interval_ms, granted.lease_ttl_ms, granted.renew_after_ms) == (10, 9_000, 3_000)
        assert (await router.report()).sequence_id == 1
        await bench.clock.advance(10)
        await router.keep_alive(1)
        session = bench.reporter._server._monitor._table.holder("a")
        assert session is not None
        await bench.seen(lambda: session.has_credit)
        await bench.clock.advance(10)
        assert (await router.report()).sequence_id == 2
        statuses = [router.status]
        await router.stop()
        assert await router.ended() is None
        statuses.append(router.status)
        assert statuses == [None, grpc.StatusCode.OK]
        assert await router.receive() is None


async def test_it_changes_its_terms(bench: Bench) -> None:
    async with ScriptedRouter(bench.reporter.address) as router:
        await router.register(report_interval_ms=1_000)
        await router.report()
        await router.update_config(report_interval_ms=200, lease_ttl_ms=7_000)
        await bench.seen(lambda: bench.lease_until_ms("router") == 7_000)
        await bench.clock.advance(200)
        assert (await router.report()).report_time_unix_ms - bench.clock.wall_offset_ms == 200


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        (RouterFrame(keep_alive=KeepAlive()), "INVALID_FIRST_FRAME"),
        (RouterFrame(), "INVALID_ARGUMENT"),
        (b"\x0a\xff\xff\xff", "INVALID_ARGUMENT"),
    ],
)
async def test_it_sends_what_no_router_should_and_returns_the_error(
    bench: Bench, frame: RouterFrame | bytes, code: str
) -> None:
    async with ScriptedRouter(bench.reporter.address) as router:
        await router.send(frame)
        error = await router.ended()
        assert error is not None
        assert error.code == code
        await router.keep_alive()  # into a stream that is over: nobody minds


async def test_what_comes_instead_of_what_must_come_is_named(bench: Bench) -> None:
    async with ScriptedRouter(bench.reporter.address, timeout_seconds=0.2) as router:
        await router.register()
        await router.report()
        with pytest.raises(AssertionError, match=r"the Worker said nothing within 0\.2 s"):
            await router.report()
        await router.keep_alive(99)
        with pytest.raises(
            AssertionError, match="the Worker sent error INVALID_ARGUMENT: acked_sequence_id=99 was never"
        ):
            await router.report()
        with pytest.raises(AssertionError, match=r"the Worker ended the stream with status StatusCode\.OK, not report"):
            await router.report()


async def test_a_router_that_stalls_finds_old_reports_when_it_goes_on_and_then_the_newest(bench: Bench) -> None:
    async with ScriptedRouter(bench.reporter.address) as router:
        await router.register(report_interval_ms=10, lease_ttl_ms=300_000)
        await router.report()
        router.stall()
        for _ in range(300):
            await bench.clock.advance(10)
        router.go_on()
        numbers = [(await router.report()).sequence_id]
        while numbers[-1] < bench.reporter.counters.fires:
            numbers.append((await router.report()).sequence_id)
        assert numbers == sorted(set(numbers))
        assert len(numbers) < 150


def test_the_fakes_that_need_no_grpc_import_none() -> None:
    program = (
        "import sys; from loadmonitor_worker.testing import FakeSource, ManualClock, rank; assert 'grpc' not in sys.modules; "
        "from loadmonitor_worker.testing import ScriptedRouter; assert 'grpc' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=50)
