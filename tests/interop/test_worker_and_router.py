"""The Worker's reporter and the Router's client over real gRPC, on one clock that is moved by hand."""

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from loadmonitor_router import Connection, ConnectionState, Freshness, MonitorClient, assess
from loadmonitor_worker import LoadReporter, ReporterConfig, start_load_reporter
from loadmonitor_worker.testing import FakeSource, ManualClock

WAIT_SECONDS = 10


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def reporter(clock: ManualClock) -> AsyncIterator[LoadReporter]:
    started = await start_load_reporter(ReporterConfig(port=0), FakeSource(clock, dp_size=8), clock=clock)
    assert started is not None
    async with started:
        yield started


class Watched:
    """A client whose changes of state can be waited for."""

    def __init__(self, address: str, clock: ManualClock, *, interval_ms: int) -> None:
        self.changed = asyncio.Event()
        self.client = MonitorClient(
            address, router_id="r", report_interval_ms=interval_ms, clock=clock, on_connection=self._note
        )

    def _note(self, _: Connection) -> None:
        self.changed.set()

    async def becomes(self, state: ConnectionState) -> Connection:
        async with asyncio.timeout(WAIT_SECONDS):
            while self.client.connection.state is not state:
                self.changed.clear()
                await self.changed.wait()
        return self.client.connection


async def seen(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        while not condition():  # noqa: ASYNC110 - frames on their way announce themselves to nobody
            await asyncio.sleep(0)


@pytest.mark.clause("ACK-1", "ACK-2")
async def test_a_router_that_stalls_for_ten_seconds_finds_one_old_report_which_is_not_fresh_and_then_a_fresh_one(
    clock: ManualClock, reporter: LoadReporter
) -> None:
    watched = Watched(reporter.address, clock, interval_ms=50)
    async with watched.client as client:
        assert assess(await anext(client), clock.monotonic_ns()).freshness is Freshness.FRESH
        for _ in range(200):
            await clock.advance(50)
        await seen(lambda: client.connection.received == 2)
        assert reporter.counters.fires == 2

        old = await anext(client)
        verdict = assess(old, clock.monotonic_ns())
        assert verdict.freshness is Freshness.STALE
        assert verdict.age_ms is not None
        assert verdict.age_ms > 9_000
        assert client.connection.received == 2

        new = asyncio.create_task(anext(client))
        while (
            not new.done()
        ):  # the acknowledgement and the report are on their way: time goes by more slowly than they travel
            await clock.advance(1)
            await asyncio.sleep(0.001)
        verdict = assess(await new, clock.monotonic_ns())
        assert verdict.freshness is Freshness.FRESH
        assert client.connection.received == 3


@pytest.mark.clause("OPEN-7")
async def test_two_routers_that_fight_over_one_id_take_turns_ever_more_rarely(
    clock: ManualClock, reporter: LoadReporter, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = (Watched(reporter.address, clock, interval_ms=600_000) for _ in range(2))
    delays_ms = []
    async with first.client:
        await first.becomes(ConnectionState.REGISTERED)
        async with second.client:
            await second.becomes(ConnectionState.REGISTERED)
            loser, winner = first, second
            for _ in range(10):
                lost = await loser.becomes(ConnectionState.BACKING_OFF)
                assert lost.last_error is not None
                assert lost.last_error.startswith("SESSION_REPLACED")
                assert lost.retry_at_ns is not None
                wait_ms = (lost.retry_at_ns - clock.monotonic_ns()) / 1e6
                delays_ms.append(wait_ms)
                await clock.advance(wait_ms)
                await loser.becomes(ConnectionState.REGISTERED)
                loser, winner = winner, loser
    assert sum(delays_ms[-2:]) > 8 * sum(delays_ms[:2])
    assert "another router registers as r too" in caplog.text
