"""Both ends' own pings in real time: a quiet stream lives on, and a router that stopped is noticed."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator

import pytest

from loadmonitor_router import ConnectionState, MonitorClient
from loadmonitor_worker import LoadReporter, ReporterConfig, start_load_reporter
from loadmonitor_worker.sources import SyntheticSource

pytestmark = [pytest.mark.long, pytest.mark.timeout(150)]

STOPPED_ROUTER = """
import asyncio, sys
from loadmonitor_router import MonitorClient

async def main():
    async with MonitorClient(sys.argv[1], router_id="r", report_interval_ms=600_000, lease_ttl_ms=300_000) as client:
        await anext(client)
        print("registered", flush=True)
        await anext(client)

asyncio.run(main())
"""


@pytest.fixture
async def reporter() -> AsyncIterator[LoadReporter]:
    started = await start_load_reporter(ReporterConfig(port=0), SyntheticSource(1))
    assert started is not None
    async with started:
        yield started


async def test_a_quiet_stream_survives_the_routers_pings(reporter: LoadReporter) -> None:
    async with MonitorClient(
        reporter.address, router_id="r", report_interval_ms=600_000, lease_ttl_ms=300_000
    ) as client:
        await anext(client)
        await asyncio.sleep(75)
        assert client.connection.state is ConnectionState.REGISTERED
        assert client.connection.reconnects == 0


async def test_a_router_that_was_stopped_is_noticed_by_the_workers_pings(reporter: LoadReporter) -> None:
    router = await asyncio.create_subprocess_exec(
        sys.executable, "-c", STOPPED_ROUTER, reporter.address, stdout=asyncio.subprocess.PIPE
    )
    try:
        assert router.stdout is not None
        assert await router.stdout.readline() == b"registered\n"
        router.send_signal(signal.SIGSTOP)
        async with asyncio.timeout(25):
            while reporter._server._monitor._table.open_streams:  # noqa: ASYNC110 - a stream's end is told to nobody
                await asyncio.sleep(0.2)
    finally:
        router.kill()
        await router.wait()
