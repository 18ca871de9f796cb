"""The client against a real gRPC server while all is well: registration, order, acknowledgements, renewal."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from loadmonitor_proto import KeepAlive, RouterFrame
from loadmonitor_router import (
    ClientStateError,
    Connection,
    ConnectionState,
    DropReason,
    MonitorClient,
    age_ms,
)
from loadmonitor_router.testing import (
    ManualClock,
    ScriptedStream,
    ScriptedWorker,
    wire_rank,
    wire_report,
)

pytestmark = pytest.mark.usefixtures("leaves_nothing")


def ack(sequence_id: int) -> RouterFrame:
    return RouterFrame(keep_alive=KeepAlive(acked_sequence_id=sequence_id))


@asynccontextmanager
async def registered(
    clock: ManualClock, *, extended: bool = True, **settings: Any
) -> AsyncIterator[tuple[MonitorClient, ScriptedStream]]:
    states: asyncio.Queue[Connection] = asyncio.Queue()
    settings = {"report_interval_ms": 50} | settings  # so short that acknowledgements go out at once
    async with (
        ScriptedWorker() as worker,
        MonitorClient(
            worker.address, router_id="r", clock=clock, on_connection=states.put_nowait, **settings
        ) as client,
    ):
        stream = await worker.accept()
        await stream.acknowledge(extended=extended)
        while (await states.get()).state is not ConnectionState.REGISTERED:
            pass
        yield client, stream


async def test_the_register_carries_the_settings(clock: ManualClock) -> None:
    async with registered(clock, report_interval_ms=250, lease_ttl_ms=9_000, max_unacked_reports=3) as (_, stream):
        register = stream.register
    assert (register.router_id, register.report_interval_ms, register.lease_ttl_ms) == ("r", 250, 9_000)
    assert register.max_unacked_reports == 3


async def test_a_client_that_does_not_acknowledge_does_not_promise_to(clock: ManualClock) -> None:
    async with registered(clock, max_unacked_reports=None) as (client, stream):
        assert not stream.register.HasField("max_unacked_reports")
        assert client.connection.grant is not None
        assert client.connection.grant.max_unacked_reports is None


async def test_the_grant_shows_in_the_connection(clock: ManualClock) -> None:
    async with registered(clock, report_interval_ms=250) as (client, _):
        grant = client.connection.grant
    assert grant is not None
    assert (grant.lease_ttl_ms, grant.renew_after_ms, grant.report_interval_ms) == (15_000, 5_000, 250)
    assert (grant.min_report_interval_ms, grant.max_lease_ttl_ms, grant.source_instance_id) == (10, 300_000, "a")
    assert grant.max_unacked_reports == 1


async def test_a_report_is_acknowledged_when_it_is_handed_over_and_not_before(clock: ManualClock) -> None:
    async with registered(clock) as (client, stream):
        await stream.report(wire_report(7))
        await until_received(client, 1)
        clock.move(3_750)
        renewal = await stream.receive()
        assert renewal == RouterFrame(keep_alive=KeepAlive())
        assert (await anext(client)).sequence_id == 7
        assert await stream.receive() == ack(7)


async def test_the_acknowledgement_is_held_back_until_shortly_before_the_next_report_is_due(clock: ManualClock) -> None:
    async with registered(clock, report_interval_ms=1_000) as (client, stream):
        await stream.report(wire_report(1))
        await anext(client)
        assert await clock.timer_within(1_000) == 900
        clock.move(900)
        assert await stream.receive() == ack(1)
        clock.move(101)
        await stream.report(wire_report(2))
        assert (await anext(client)).receipt.delay_ms == 101


async def test_with_a_window_of_two_each_report_is_handed_over_and_acknowledged_in_order(clock: ManualClock) -> None:
    async with registered(clock, max_unacked_reports=2) as (client, stream):
        await stream.report(wire_report(4))
        await stream.report(wire_report(9))
        await until_received(client, 2)
        assert (await anext(client)).sequence_id == 4
        assert await stream.receive() == ack(4)
        assert (await anext(client)).sequence_id == 9
        assert await stream.receive() == ack(9)


async def test_a_dropped_report_is_acknowledged_at_once_and_explained(clock: ManualClock) -> None:
    async with registered(clock) as (client, stream):
        await stream.report(wire_report(1, ranks=[wire_rank(num_waiting_reqs=-2)]))
        assert await stream.receive() == ack(1)
        connection = client.connection
        assert connection.dropped == {DropReason.NEGATIVE: 1}
        assert connection.last_drop == "report 1 of instance a: rank 0: num_waiting_reqs=-2 is negative"
        assert connection.state is ConnectionState.REGISTERED
        await stream.report(wire_report(2))
        assert (await anext(client)).sequence_id == 2
        assert await stream.receive() == ack(2)


async def test_a_consumer_that_is_slow_finds_one_old_report_of_an_acknowledging_worker(clock: ManualClock) -> None:
    async with registered(clock) as (client, stream):
        await stream.report(wire_report(1))
        await until_received(client, 1)
        clock.move(3_000)
        old = await anext(client)
        assert age_ms(old, clock.monotonic_ns()) == 3_020
        assert await stream.receive() == ack(1)
        await stream.report(wire_report(2))
        new = await anext(client)
        assert age_ms(new, clock.monotonic_ns()) == 20


async def test_a_report_that_waited_in_buffers_is_as_old_as_its_credit(clock: ManualClock) -> None:
    async with registered(clock) as (client, stream):
        await stream.report(wire_report(1))
        await anext(client)
        assert await stream.receive() == ack(1)
        # The Worker may have built the next report right after the acknowledgement, 10 s ago.
        clock.move(10_000)
        await stream.report(wire_report(2))
        late = await anext(client)
        assert late.receipt.delay_ms == 10_000
        assert age_ms(late, clock.monotonic_ns()) == 10_020


async def test_a_slow_consumer_finds_only_the_newest_report_of_a_worker_of_the_first_version(
    clock: ManualClock,
) -> None:
    async with registered(clock, extended=False) as (client, stream):
        for sequence_id in range(1, 51):
            await stream.report(wire_report(sequence_id))
        await until_received(client, 50)
        assert (await anext(client)).sequence_id == 50
        assert client.connection.superseded == 49


async def test_a_worker_of_the_first_version_gets_renewals_and_no_acknowledgements(clock: ManualClock) -> None:
    async with registered(clock, extended=False) as (client, stream):
        await stream.report(wire_report(1))
        await anext(client)
        clock.move(3_750)
        assert await stream.receive() == RouterFrame(keep_alive=KeepAlive())


@pytest.mark.clause("LEASE-1")
async def test_the_lease_is_renewed_before_renew_after_and_an_acknowledgement_renews_it_too(
    clock: ManualClock,
) -> None:
    async with registered(clock) as (client, stream):
        await clock.timer_within(5_000)
        clock.move(3_749)
        await stream.report(wire_report(1))
        await anext(client)
        assert await stream.receive() == ack(1)
        # Due 3750 ms after the acknowledgement now, no longer 1 ms from here.
        assert await clock.timer_within(5_000) == 3_750
        clock.move(3_750)
        assert await stream.receive() == RouterFrame(keep_alive=KeepAlive())


async def test_a_duplicate_and_an_older_report_are_dropped_and_counted(clock: ManualClock) -> None:
    async with registered(clock, max_unacked_reports=3) as (client, stream):
        for sequence_id in (5, 5, 4, 6):
            await stream.report(wire_report(sequence_id))
        assert [(await anext(client)).sequence_id, (await anext(client)).sequence_id] == [5, 6]
        assert client.connection.dropped == {DropReason.OUT_OF_ORDER: 2}


async def test_a_new_source_instance_retires_the_old_one(clock: ManualClock) -> None:
    async with registered(clock, extended=False) as (client, stream):
        await stream.report(wire_report(100, source_instance_id="old"))
        await anext(client)
        await stream.report(wire_report(1, source_instance_id="new"))
        assert (await anext(client)).source_instance_id == "new"
        await stream.report(wire_report(101, source_instance_id="old"))
        await stream.report(wire_report(2, source_instance_id="new"))
        assert (await anext(client)).sequence_id == 2
        assert client.connection.dropped == {DropReason.RETIRED_INSTANCE: 1}


async def test_a_report_of_256_ranks_passes_the_small_receive_window(clock: ManualClock) -> None:
    async with registered(clock) as (client, stream):
        await stream.report(wire_report(1, ranks=[wire_rank(number) for number in range(256)]))
        assert len((await anext(client)).ranks) == 256


async def test_a_failing_callback_does_not_end_the_client(clock: ManualClock, caplog: pytest.LogCaptureFixture) -> None:
    def fail(_: Connection) -> None:
        raise LookupError("the callback's own fault")

    async with (
        ScriptedWorker() as worker,
        MonitorClient(worker.address, router_id="r", clock=clock, on_connection=fail) as client,
    ):
        stream = await worker.accept()
        await stream.acknowledge()
        await stream.report(wire_report(1))
        assert (await anext(client)).sequence_id == 1
    assert "the callback's own fault" in caplog.text


async def test_a_client_that_is_not_open_says_so_instead_of_waiting() -> None:
    client = MonitorClient("127.0.0.1:1", router_id="r")
    assert client.connection.state is ConnectionState.CLOSED
    with pytest.raises(ClientStateError, match="isn't open"):
        await anext(client)


async def test_a_client_can_not_be_entered_twice_at_once(clock: ManualClock) -> None:
    async with registered(clock) as (client, _):
        with pytest.raises(ClientStateError, match="open already"):
            await client.__aenter__()


def test_one_client_works_on_one_event_loop_after_another() -> None:
    async def first_sequence(client: MonitorClient, port: int) -> tuple[int, int]:
        async with ScriptedWorker(port=port) as worker, client:
            stream = await worker.accept()
            await stream.acknowledge()
            await stream.report(wire_report(port + 1))
            return (await anext(client)).sequence_id, worker.port

    async def free_port() -> int:
        async with ScriptedWorker() as worker:
            return worker.port

    port = asyncio.run(free_port())
    client = MonitorClient(f"127.0.0.1:{port}", router_id="r")
    assert asyncio.run(first_sequence(client, port)) == (port + 1, port)
    assert client.connection.state is ConnectionState.CLOSED


async def until_received(client: MonitorClient, reports: int) -> None:
    while True:
        if client.connection.received == reports:
            return
        await asyncio.sleep(0)
