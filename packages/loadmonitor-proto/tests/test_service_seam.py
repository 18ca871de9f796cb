"""The gRPC seam against a real server on the loopback address."""

import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import grpc
import grpc.aio
import pytest
from google.protobuf.message import DecodeError

from loadmonitor_proto import (
    KeepAlive,
    LoadReport,
    RegisterRequest,
    RegisterResponse,
    RouterFrame,
    StopRequest,
    StreamError,
    StreamErrorCode,
    UpdateConfigRequest,
    WorkerFrame,
)
from loadmonitor_proto.service import (
    MONITOR_METHOD,
    SERVICE_NAME,
    LoadMonitorServicer,
    LoadMonitorStub,
    add_load_monitor_servicer,
)

Context = grpc.aio.ServicerContext[RouterFrame, WorkerFrame | bytes]

ROUTER_FRAMES = [
    RouterFrame(register=RegisterRequest(router_id="r", report_interval_ms=100, lease_ttl_ms=3000)),
    RouterFrame(update_config=UpdateConfigRequest(lease_ttl_ms=0)),
    RouterFrame(keep_alive=KeepAlive(acked_sequence_id=0)),
    RouterFrame(stop=StopRequest()),
]
WORKER_FRAMES = [
    WorkerFrame(registered=RegisterResponse(lease_ttl_ms=3000, renew_after_ms=1000)),
    WorkerFrame(report=LoadReport(sequence_id=1)),
    WorkerFrame(error=StreamError(code=StreamErrorCode.SHUTTING_DOWN)),
]


class Recorder:
    """Keeps what it reads until the Router half-closes, then writes its answers."""

    def __init__(self, *answers: WorkerFrame | bytes) -> None:
        self.answers = answers
        self.received: list[RouterFrame] = []

    async def Monitor(self, request_iterator: AsyncIterator[RouterFrame], context: Context) -> None:  # noqa: N802
        async for frame in request_iterator:
            self.received.append(frame)
        for answer in self.answers:
            await context.write(answer)


class Refuser:
    """Answers a frame that doesn't parse with an error and ends."""

    def __init__(self) -> None:
        self.received: list[RouterFrame] = []

    async def Monitor(self, request_iterator: AsyncIterator[RouterFrame], context: Context) -> None:  # noqa: N802
        try:
            async for frame in request_iterator:
                self.received.append(frame)
        except DecodeError:
            await context.write(WorkerFrame(error=StreamError(code=StreamErrorCode.INVALID_ARGUMENT)))


def raw_call(channel: grpc.aio.Channel) -> grpc.aio.StreamStreamCall[bytes, bytes]:
    """Open the stream as a peer that sends and receives bytes."""
    method: grpc.aio.StreamStreamMultiCallable[bytes, bytes] = channel.stream_stream(MONITOR_METHOD)
    return method()


@asynccontextmanager
async def serving(servicer: LoadMonitorServicer) -> AsyncIterator[grpc.aio.Channel]:
    """Serve on a free port of the loopback address and hand out a channel to it."""
    server = grpc.aio.server()
    add_load_monitor_servicer(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            yield channel
    finally:
        await server.stop(None)


async def test_every_kind_of_frame_crosses_unchanged_in_both_directions() -> None:
    servicer = Recorder(*WORKER_FRAMES)
    async with serving(servicer) as channel:
        call = LoadMonitorStub(channel).Monitor()
        for frame in ROUTER_FRAMES:
            await call.write(frame)
        await call.done_writing()
        answers = [frame async for frame in call]
        assert await call.code() is grpc.StatusCode.OK
    assert servicer.received == ROUTER_FRAMES
    assert answers == WORKER_FRAMES


async def test_bytes_that_were_serialised_before_reach_the_router_as_they_are() -> None:
    # The report before its sequence id 2, and a field nobody knows: encoding it again would change these bytes.
    unusual = b"\x12\x06\x10\x02\x0a\x02id" + b"\xa0\x1f\x01"
    assert WorkerFrame.FromString(unusual).SerializeToString() != unusual
    async with serving(Recorder(unusual)) as channel:
        call = raw_call(channel)
        await call.done_writing()
        assert [frame async for frame in call] == [unusual]


async def test_a_frame_that_does_not_parse_raises_in_the_handler_and_the_router_sees_a_clean_end() -> None:
    servicer = Refuser()
    async with serving(servicer) as channel:
        call = raw_call(channel)
        await call.write(ROUTER_FRAMES[0].SerializeToString())
        await call.write(b"\x0a\xff")
        (answer,) = [WorkerFrame.FromString(frame) async for frame in call]
        assert answer.error.code == StreamErrorCode.INVALID_ARGUMENT
        assert await call.code() is grpc.StatusCode.OK
    assert servicer.received == ROUTER_FRAMES[:1]


async def test_a_frame_that_does_not_parse_is_none_at_the_router_and_nothing_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with serving(Recorder(b"\xff", WORKER_FRAMES[0])) as channel:
        call = LoadMonitorStub(channel).Monitor()
        await call.done_writing()
        assert [frame async for frame in call] == [None, WORKER_FRAMES[0]]
        assert await call.code() is grpc.StatusCode.OK
    assert not caplog.records


def test_the_path_on_the_wire_is_the_published_one() -> None:
    assert SERVICE_NAME == "sglang.router.loadmonitor.v1.LoadMonitorService"
    assert MONITOR_METHOD == "/sglang.router.loadmonitor.v1.LoadMonitorService/Monitor"


def test_the_messages_alone_import_no_grpc() -> None:
    program = "import sys, loadmonitor_proto; sys.exit('grpc' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)
