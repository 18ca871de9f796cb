"""Many Workers in one process, on the machine's own clock: each is heard, and all are left in good order."""

import asyncio
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator

import grpc.aio
import pytest

import loadmonitor_proto as wire
from loadmonitor_proto.service import add_load_monitor_servicer
from loadmonitor_router import ConnectionState, Freshness, LoadMonitor, WorkerTarget
from loadmonitor_router.testing import wire_rank, wire_report

pytestmark = pytest.mark.usefixtures("leaves_nothing")

RANKS = [wire_rank(dp_rank) for dp_rank in range(8)]


class Reporter:
    """A Worker of the contract that answers every acknowledgement with the next report, an interval later."""

    def __init__(self, size: int, reports_each: int) -> None:
        self.all_heard = asyncio.Event()
        self._unheard = size
        self._reports_each = reports_each

    async def Monitor(  # noqa: N802 - the method's name on the wire
        self,
        request_iterator: AsyncIterator[wire.RouterFrame],
        context: "grpc.aio.ServicerContext[wire.RouterFrame, wire.WorkerFrame | bytes]",
    ) -> None:
        sequence_id = 0
        interval_ms = 0
        async for frame in request_iterator:
            kind = frame.WhichOneof("payload")
            if kind == "register":
                interval_ms = frame.register.report_interval_ms
                granted = wire.RegisterResponse(
                    lease_ttl_ms=15_000,
                    renew_after_ms=5_000,
                    report_interval_ms=interval_ms,
                    stale_after_ms=3_000,
                    source_instance_id="a",
                    min_report_interval_ms=10,
                    max_lease_ttl_ms=300_000,
                )
                await context.write(wire.WorkerFrame(registered=granted))
            elif kind == "stop":
                return
            elif not frame.keep_alive.HasField("acked_sequence_id"):
                continue
            else:
                self._unheard -= sequence_id == self._reports_each
                if self._unheard == 0:
                    self.all_heard.set()
                await asyncio.sleep(interval_ms / 10_000)  # acknowledgements come a tenth of the interval ahead
            sequence_id += 1
            await context.write(wire.WorkerFrame(report=wire_report(sequence_id, ranks=RANKS)))


def say(*words: object) -> None:
    sys.stdout.write(f"{' '.join(map(str, words))}\n")
    sys.stdout.flush()


async def serve(size: int, reports_each: int) -> None:
    """Be so many Workers, each on a port of its own; say when the reports were acknowledged."""
    reporter = Reporter(size, reports_each)
    server = grpc.aio.server(options=[("grpc.so_reuseport", 0)])
    add_load_monitor_servicer(reporter, server)
    say(*(server.add_insecure_port("127.0.0.1:0") for _ in range(size)))
    await server.start()
    await reporter.all_heard.wait()
    say("all heard")
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    await server.stop(None)


async def watch(size: int, reports_each: int, *, interval_ms: int) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, __file__, str(size), str(reports_each), stdin=PIPE, stdout=PIPE, limit=1_000_000
    )
    assert process.stdin is not None
    assert process.stdout is not None
    ports = (await process.stdout.readline()).split()
    targets = [WorkerTarget(url=f"http://w{int(port)}:30000", reporter=f"127.0.0.1:{int(port)}") for port in ports]
    async with LoadMonitor(router_id="r", report_interval_ms=interval_ms, freshness_ms=3 * interval_ms) as monitor:
        monitor.reconcile(targets)
        assert await process.stdout.readline() == b"all heard\n"
        loads = monitor.snapshot().workers.values()
        assert {load.connection.state for load in loads} == {ConnectionState.REGISTERED}
        assert {load.freshness for load in loads} == {Freshness.FRESH}
        assert len(loads) == size
        assert monitor.stats.reports_total >= size * reports_each
        assert monitor.stats.dropped_reports_total == {}
        half = targets[: size // 2]
        monitor.reconcile(half)
        assert list(monitor.snapshot().workers) == sorted(worker.url for worker in half)
    assert not monitor.snapshot().workers
    process.stdin.close()
    assert await process.wait() == 0


async def test_a_hundred_workers_are_watched_by_one_monitor() -> None:
    await watch(100, 2, interval_ms=1_000)


@pytest.mark.long
@pytest.mark.timeout(180)
async def test_a_thousand_workers_are_watched_by_one_monitor() -> None:
    await watch(1_000, 5, interval_ms=3_000)


if __name__ == "__main__":
    asyncio.run(serve(*map(int, sys.argv[1:])))
