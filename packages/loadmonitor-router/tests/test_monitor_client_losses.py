"""The client against a real gRPC server while things go wrong: what it dials again, when, and what it says."""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import pytest

from loadmonitor_proto import KeepAlive, RegisterResponse, RouterFrame, StopRequest, WorkerFrame
from loadmonitor_proto.service import add_load_monitor_servicer
from loadmonitor_router import (
    Connection,
    ConnectionState,
    MonitorClient,
    StreamRefusedError,
)
from loadmonitor_router.testing import ManualClock, ScriptedWorker, wire_report

pytestmark = pytest.mark.usefixtures("leaves_nothing")

HUGE = "r" * 10_000_000  # a register that no window takes in: it can't be sent unless the peer reads


class Watched(MonitorClient):
    """A client whose changes of state can be awaited."""

    def __init__(self, address: str, clock: ManualClock, *, router_id: str = "r", **settings: Any) -> None:
        self.states: asyncio.Queue[Connection] = asyncio.Queue()
        super().__init__(address, router_id=router_id, clock=clock, on_connection=self.states.put_nowait, **settings)

    async def becomes(self, state: ConnectionState) -> Connection:
        while (connection := await self.states.get()).state is not state:
            pass
        return connection


async def pass_backoff(client: Watched, clock: ManualClock) -> float:
    """Let the announced delay pass; return it in milliseconds."""
    retry_at_ns = client.connection.retry_at_ns
    assert retry_at_ns is not None
    delay_ms = (retry_at_ns - clock.monotonic_ns()) / 1e6
    clock.move(delay_ms + 0.001)
    return delay_ms


@pytest.fixture
async def worker() -> AsyncIterator[ScriptedWorker]:
    async with ScriptedWorker() as scripted:
        yield scripted


async def test_a_worker_that_dies_is_dialled_again_and_found_on_the_same_port(clock: ManualClock) -> None:
    async with ScriptedWorker() as first:
        client = Watched(first.address, clock)
        await client.__aenter__()
        stream = await first.accept()
        await stream.acknowledge()
        await stream.report(wire_report(10, source_instance_id="first"))
        assert (await anext(client)).sequence_id == 10
    lost = await client.becomes(ConnectionState.BACKING_OFF)
    assert lost.last_error is not None
    assert lost.last_error.startswith("UNAVAILABLE")
    assert lost.grant is None
    async with ScriptedWorker(port=first.port) as second:
        await pass_backoff(client, clock)
        stream = await second.accept()
        await stream.acknowledge(source_instance_id="second")
        await stream.report(wire_report(1, source_instance_id="second"))
        assert (await anext(client)).source_instance_id == "second"
        assert client.connection.reconnects == 1
        # Kept while all is well: it is the answer to "what happened at 3 o'clock?".
        assert client.connection.last_error == lost.last_error
        await client.close()


async def test_a_refused_connection_is_tried_again_after_doubling_delays_up_to_five_seconds(
    clock: ManualClock, worker: ScriptedWorker
) -> None:
    address = worker.address
    await worker.__aexit__(None, None, None)
    delays = []
    async with Watched(address, clock) as client:
        for _ in range(7):
            refused = await client.becomes(ConnectionState.BACKING_OFF)
            delays.append(await pass_backoff(client, clock))
    assert refused.last_error is not None
    assert "Connection refused" in refused.last_error
    for delay, longest in zip(delays, (200, 400, 800, 1_600, 3_200, 5_000, 5_000), strict=True):
        assert longest / 2 <= delay <= longest


async def test_a_black_hole_is_given_up_after_the_connect_timeout(clock: ManualClock) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        async with Watched(f"127.0.0.1:{silent.getsockname()[1]}", clock) as client:
            assert await clock.timer_within(2_000) == 2_000
            clock.move(1_999)
            assert client.connection.state is ConnectionState.CONNECTING
            clock.move(1)
            lost = await client.becomes(ConnectionState.BACKING_OFF)
            assert lost.last_error == "no connection within 2000 ms"


async def test_a_worker_that_does_not_acknowledge_is_given_up(clock: ManualClock, worker: ScriptedWorker) -> None:
    async with Watched(worker.address, clock, ack_timeout_ms=700) as client:
        stream = await worker.accept()
        await clock.timer_within(700)
        clock.move(700)
        lost = await client.becomes(ConnectionState.BACKING_OFF)
        assert lost.last_error == "registration not acknowledged within 700 ms"
        assert await stream.receive() is None


async def test_a_peer_without_the_service_is_named_as_such_and_asked_every_five_seconds(clock: ManualClock) -> None:
    async with ScriptedWorker(has_service=False) as engine, Watched(engine.address, clock) as client:
        for _ in range(2):
            lost = await client.becomes(ConnectionState.BACKING_OFF)
            assert lost.last_error is not None
            assert "has no sglang.router.loadmonitor.v1.LoadMonitorService" in lost.last_error
            assert 2_500 <= await pass_backoff(client, clock) <= 5_000


@pytest.mark.clause("END-3")
@pytest.mark.parametrize("code", ["INVALID_ARGUMENT", "INVALID_FIRST_FRAME", "PERMISSION_DENIED"])
async def test_a_terminal_code_ends_the_iteration_with_a_typed_error(
    clock: ManualClock, worker: ScriptedWorker, code: str
) -> None:
    async with Watched(worker.address, clock) as client:
        stream = await worker.accept()
        await stream.fail(code, "lease_ttl_ms must be positive")
        for _ in range(2):
            with pytest.raises(StreamRefusedError, match="lease_ttl_ms must be positive") as raised:
                await anext(client)
        assert raised.value.code == code
        assert raised.value.address == worker.address
        assert client.connection.state is ConnectionState.FAILED
        assert client.connection.last_error == str(raised.value)


@pytest.mark.clause("END-3")
@pytest.mark.parametrize("code", ["LEASE_EXPIRED", "RESOURCE_EXHAUSTED", "SHUTTING_DOWN", "A_WORD_OF_NEXT_YEAR"])
async def test_any_other_code_is_retried(clock: ManualClock, worker: ScriptedWorker, code: str) -> None:
    async with Watched(worker.address, clock) as client:
        stream = await worker.accept()
        await stream.acknowledge()
        await stream.fail(code, "why")
        lost = await client.becomes(ConnectionState.BACKING_OFF)
        assert lost.last_error == f"{code}: why"
        await pass_backoff(client, clock)
        await (await worker.accept()).acknowledge()
        await client.becomes(ConnectionState.REGISTERED)


async def test_the_last_words_of_a_worker_are_heard_although_an_acknowledgement_crosses_them(
    clock: ManualClock, worker: ScriptedWorker
) -> None:
    """A write on a call that has ended must not cost the frames that still wait to be read."""
    async with Watched(worker.address, clock) as client:
        for round_number in range(1, 21):
            stream = await worker.accept()
            await stream.acknowledge()
            await stream.report(wire_report(round_number))
            # The report is acknowledged, on a stream that is over, before the error frame behind it is read.
            await asyncio.gather(anext(client), stream.fail("LEASE_EXPIRED", "why"))
            lost = await client.becomes(ConnectionState.BACKING_OFF)
            assert lost.last_error == "LEASE_EXPIRED: why"
            await pass_backoff(client, clock)


@pytest.mark.clause("OPEN-7")
async def test_two_routers_with_one_id_back_off_ever_longer_and_say_so(
    clock: ManualClock, worker: ScriptedWorker, caplog: pytest.LogCaptureFixture
) -> None:
    delays = []
    async with Watched(worker.address, clock) as client:
        for _ in range(10):
            stream = await worker.accept()
            await stream.acknowledge()
            await client.becomes(ConnectionState.REGISTERED)
            clock.move(6_000)  # a spell that would be good enough after any other loss
            await stream.fail("SESSION_REPLACED", "another stream registered r")
            await client.becomes(ConnectionState.BACKING_OFF)
            delays.append(await pass_backoff(client, clock))
    for delay, longest in zip(delays, (1, 2, 4, 8, 16, 32, 64, 128, 256, 300), strict=True):
        assert longest * 500 <= delay <= longest * 1_000
    rivalries = [record for record in caplog.records if "another router registers as r too" in record.message]
    assert len(rivalries) == 10
    assert {record.levelno for record in rivalries} == {logging.WARNING}


async def test_a_good_spell_makes_the_next_delay_short_again(clock: ManualClock, worker: ScriptedWorker) -> None:
    async with Watched(worker.address, clock) as client:
        for _ in range(4):
            stream = await worker.accept()
            await stream.end()
            await client.becomes(ConnectionState.BACKING_OFF)
            delay = await pass_backoff(client, clock)
        assert delay >= 800
        stream = await worker.accept()
        await stream.acknowledge()
        await client.becomes(ConnectionState.REGISTERED)
        clock.move(5_000)
        await stream.end()
        lost = await client.becomes(ConnectionState.BACKING_OFF)
        assert lost.last_error is not None
        assert lost.last_error.startswith("the Worker ended the stream")
        assert await pass_backoff(client, clock) <= 200


@pytest.mark.parametrize(
    ("frames", "fault"),
    [
        ([WorkerFrame()], "empty or doesn't parse"),
        ([b"\xff\xff\xff"], "empty or doesn't parse"),
        ([WorkerFrame(report=wire_report(1))], "before the acknowledgement"),
        ([WorkerFrame(registered=RegisterResponse(lease_ttl_ms=9, renew_after_ms=3))] * 2, "a second acknowledgement"),
        ([WorkerFrame(registered=RegisterResponse(lease_ttl_ms=9, renew_after_ms=9))], "renew_after_ms=9 isn't below"),
    ],
    ids=["empty", "garbage", "early-report", "acknowledged-twice", "lease-not-renewable"],
)
async def test_a_worker_that_breaks_the_protocol_is_hung_up_on_and_dialled_again(
    clock: ManualClock, worker: ScriptedWorker, frames: list[WorkerFrame | bytes], fault: str
) -> None:
    async with Watched(worker.address, clock) as client:
        stream = await worker.accept()
        for frame in frames:
            await stream.send(frame)
        lost = await client.becomes(ConnectionState.BACKING_OFF)
        assert lost.last_error is not None
        assert lost.last_error.startswith("protocol error: ")
        assert fault in lost.last_error
        assert await stream.receive() is None
        await pass_backoff(client, clock)
        await worker.accept()


async def test_a_stepped_clock_of_a_first_version_worker_makes_the_age_unknown_and_the_stream_anew(
    clock: ManualClock, worker: ScriptedWorker
) -> None:
    async with Watched(worker.address, clock) as client:
        stream = await worker.accept()
        await stream.acknowledge(extended=False)
        await stream.report(wire_report(1, report_time_unix_ms=1_750_000_010_000))
        assert (await anext(client)).receipt.delay_ms == 0
        await stream.report(wire_report(2, report_time_unix_ms=1_750_000_000_000))
        assert (await anext(client)).receipt.delay_ms is None
        lost = await client.becomes(ConnectionState.BACKING_OFF)
        assert lost.last_error is not None
        assert "clock was stepped" in lost.last_error
        await pass_backoff(client, clock)
        stream = await worker.accept()
        await stream.acknowledge(extended=False)
        await stream.report(wire_report(3, report_time_unix_ms=1_750_000_001_000))
        assert (await anext(client)).receipt.delay_ms == 0


async def test_a_peer_that_wants_fewer_pings_gets_fewer(clock: ManualClock, worker: ScriptedWorker) -> None:
    pings = {"grpc.keepalive_time_ms": 50, "grpc.keepalive_timeout_ms": 5_000}
    async with Watched(worker.address, clock, options=pings) as client:
        await (await worker.accept()).acknowledge()
        lost = await client.becomes(ConnectionState.BACKING_OFF)
        assert lost.last_error == "UNAVAILABLE: Too many pings"
        assert client._ping_every_ms == 100


async def test_a_connection_that_swallows_everything_is_noticed_by_pings(
    clock: ManualClock, worker: ScriptedWorker
) -> None:
    swallow = asyncio.Event()
    async with swallowing_proxy(worker.port, swallow) as address:
        pings = {"grpc.keepalive_time_ms": 100, "grpc.keepalive_timeout_ms": 200}
        async with Watched(address, clock, options=pings) as client:
            await (await worker.accept()).acknowledge()
            await client.becomes(ConnectionState.REGISTERED)
            swallow.set()
            lost = await client.becomes(ConnectionState.BACKING_OFF)
            assert lost.last_error is not None
            assert lost.last_error.startswith("UNAVAILABLE")


async def test_the_same_loss_is_logged_once_and_not_every_five_seconds(
    clock: ManualClock, worker: ScriptedWorker, caplog: pytest.LogCaptureFixture
) -> None:
    async with Watched(worker.address, clock) as client:
        for _ in range(5):
            await (await worker.accept()).end(grpc.StatusCode.INTERNAL, "Received RST_STREAM with error code 2")
            await client.becomes(ConnectionState.BACKING_OFF)
            await pass_backoff(client, clock)
    assert [record.message for record in caplog.records if "lost" in record.message] == [
        next(record.message for record in caplog.records if "RST_STREAM" in record.message)
    ]


@pytest.mark.clause("LEASE-4")
async def test_closing_tells_the_worker_to_stop(clock: ManualClock, worker: ScriptedWorker) -> None:
    async with Watched(worker.address, clock) as client:
        stream = await worker.accept()
        await stream.acknowledge()
        await client.becomes(ConnectionState.REGISTERED)
    assert await stream.receive() == RouterFrame(stop=StopRequest())
    assert await stream.receive() is None
    assert client.connection.state is ConnectionState.CLOSED
    with pytest.raises(StopAsyncIteration):
        await anext(client)


async def test_closing_is_bounded_when_the_worker_ignores_stop(clock: ManualClock) -> None:
    async with ScriptedWorker(obeys_stop=False) as worker:
        client = Watched(worker.address, clock)
        await client.__aenter__()
        stream = await worker.accept()
        await stream.acknowledge()
        await client.becomes(ConnectionState.REGISTERED)
        closing = [asyncio.create_task(client.close()) for _ in range(2)]
        assert await stream.receive() == RouterFrame(stop=StopRequest())
        assert await clock.timer_within(1_000) == 1_000
        assert not closing[0].done()
        clock.move(1_000)
        await asyncio.gather(*closing)
        await client.close()
        assert client.connection.state is ConnectionState.CLOSED


@asynccontextmanager
async def deaf_worker() -> AsyncIterator[str]:
    """A Worker that accepts streams and reads nothing."""

    class Deaf:
        async def Monitor(self, request_iterator: object, context: object) -> None:  # noqa: ARG002, N802 - as called
            await asyncio.Event().wait()

    server = grpc.aio.server()
    add_load_monitor_servicer(Deaf(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    yield f"127.0.0.1:{port}"
    await server.stop(None)


async def test_a_worker_that_takes_no_frames_is_given_up(clock: ManualClock) -> None:
    async with deaf_worker() as address, Watched(address, clock, router_id=HUGE, ack_timeout_ms=700) as client:
        assert await clock.timer_within(700) == 700
        clock.move(700)
        lost = await client.becomes(ConnectionState.BACKING_OFF)
        assert lost.last_error == "registration not acknowledged within 700 ms"


async def test_closing_is_bounded_while_a_frame_is_stuck(clock: ManualClock) -> None:
    async with deaf_worker() as address, Watched(address, clock, router_id=HUGE, ack_timeout_ms=1_500) as client:
        assert await clock.timer_within(1_500) == 1_500
        closing = asyncio.create_task(client.close())
        assert await clock.timer_within(1_000) == 1_000
        clock.move(1_000)
        await closing
        assert client.connection.state is ConnectionState.CLOSED


async def test_closing_while_connecting_is_immediate(clock: ManualClock) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        async with Watched(f"127.0.0.1:{silent.getsockname()[1]}", clock) as client:
            await client.becomes(ConnectionState.CONNECTING)
        assert client.connection.state is ConnectionState.CLOSED


async def test_closing_before_anything_has_happened_is_immediate(clock: ManualClock, worker: ScriptedWorker) -> None:
    async with Watched(worker.address, clock) as client:
        pass
    assert client.connection.state is ConnectionState.CLOSED


async def test_closing_while_backing_off_is_immediate(clock: ManualClock, worker: ScriptedWorker) -> None:
    async with Watched(worker.address, clock) as client:
        await (await worker.accept()).end()
        await client.becomes(ConnectionState.BACKING_OFF)
    assert client.connection.state is ConnectionState.CLOSED
    assert client.connection.reconnects == 0


async def test_closing_ends_the_iteration_of_a_waiting_consumer(clock: ManualClock, worker: ScriptedWorker) -> None:
    async with Watched(worker.address, clock) as client:
        waiting = asyncio.create_task(collect(client))
        await (await worker.accept()).acknowledge()
        await client.becomes(ConnectionState.REGISTERED)
        await client.close()
        assert await waiting == 0


async def test_a_consumer_that_is_cancelled_while_waiting_costs_no_report(
    clock: ManualClock, worker: ScriptedWorker
) -> None:
    async with Watched(worker.address, clock) as client:
        stream = await worker.accept()
        await stream.acknowledge()
        waiting = asyncio.create_task(collect(client))
        await client.becomes(ConnectionState.REGISTERED)
        waiting.cancel()
        await asyncio.wait({waiting})
        await stream.report(wire_report(1))
        assert (await anext(client)).sequence_id == 1
        clock.move(900)
        assert await stream.receive() == RouterFrame(keep_alive=KeepAlive(acked_sequence_id=1))


async def test_a_client_whose_loop_is_torn_down_leaves_nothing(clock: ManualClock, worker: ScriptedWorker) -> None:
    client = Watched(worker.address, clock)
    await client.__aenter__()
    await (await worker.accept()).acknowledge()
    await client.becomes(ConnectionState.REGISTERED)
    (monitor,) = (task for task in asyncio.all_tasks() if task.get_name().startswith("monitor"))
    monitor.cancel()
    await asyncio.wait({monitor})
    with pytest.raises(StopAsyncIteration):
        await anext(client)
    await client.close()


async def collect(client: MonitorClient) -> int:
    return len([report async for report in client])


@asynccontextmanager
async def swallowing_proxy(port: int, swallow: asyncio.Event) -> AsyncIterator[str]:
    """Pass bytes on both ways until `swallow` is set, and then take them in and do nothing."""

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65_536):
            if not swallow.is_set():
                writer.write(data)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        up_reader, up_writer = await asyncio.open_connection("127.0.0.1", port)
        pumps = [asyncio.create_task(pump(reader, up_writer)), asyncio.create_task(pump(up_reader, writer))]
        await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        for end in (writer, up_writer):
            end.close()
        await asyncio.wait(pumps)
        closed.set()

    closed = asyncio.Event()
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    await closed.wait()
