"""Bytes and frames that make no sense, towards either side: everybody else goes on undisturbed."""

import asyncio
from contextlib import suppress
from random import Random

import grpc.aio
import pytest
from case import Case
from http2_frames import PREFACE
from processes import Router, Worker
from proxy import Proxy
from random_frames import fill

from loadmonitor_proto import LoadReport, RouterFrame, StreamErrorCode, WorkerFrame
from loadmonitor_proto.service import MONITOR_METHOD
from loadmonitor_router.testing import ScriptedWorker

pytestmark = pytest.mark.timeout(180)

SEED = 20_261_130


async def throw(address: str, data: bytes) -> None:
    """Send bytes to a port, and read what it answers until it hangs up or has nothing to say."""
    host, _, port = address.rpartition(":")
    with suppress(OSError, TimeoutError):
        reader, writer = await asyncio.open_connection(host, int(port))
        try:
            writer.write(data)
            await writer.drain()
            async with asyncio.timeout(0.05):
                while await reader.read(4_096):
                    pass
        finally:
            writer.transport.abort()


@pytest.mark.fault("random bytes at the worker's port: 200 connections")
async def test_random_bytes_at_its_port_do_not_disturb_a_worker(case: Case) -> None:
    random = Random(SEED)
    async with Worker.telling() as worker, Router.watching(worker.address) as router:
        await router.starts()
        case.happens("100 connections send random bytes, 100 the HTTP/2 preface first")
        for start in range(0, 200, 10):
            thrown = [
                (PREFACE if number % 2 else b"") + random.randbytes(random.randrange(2_000))
                for number in range(start, start + 10)
            ]
            await asyncio.gather(*(throw(worker.address, data) for data in thrown))
        said = await case.router_says(router, "fresh", within=40)
        assert said["reconnects"] == 0
        await case.worker_says(worker, "r", streams=1, within=40)


async def converse(channel: grpc.aio.Channel, random: Random, *, valid: bool) -> str | None:
    """Open a stream and send some frames; return the code of the error frame that answers, or None for none."""
    if valid:
        frames = [fill(RouterFrame(), random).SerializeToString() for _ in range(random.randrange(1, 6))]
    else:
        frames = [random.randbytes(random.randrange(200)) for _ in range(3)]
    call: grpc.aio.StreamStreamCall[bytes, WorkerFrame] = channel.stream_stream(
        MONITOR_METHOD, response_deserializer=WorkerFrame.FromString
    )()
    code = None

    async def listen() -> None:
        nonlocal code
        async for frame in call:
            if frame.WhichOneof("payload") == "error":
                code = frame.error.code

    listening = asyncio.create_task(listen())
    for frame in frames:
        with suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
            await call.write(frame)
    with suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
        await call.done_writing()
    with suppress(grpc.aio.AioRpcError):
        await listening
    return code


@pytest.mark.parametrize(
    "valid",
    [
        pytest.param(False, marks=pytest.mark.fault("random bytes as frames, to the worker: 300 streams"), id="bytes"),
        pytest.param(True, marks=pytest.mark.fault("random valid frames, to the worker: 300 streams"), id="frames"),
    ],
)
async def test_random_frames_end_their_own_stream_only(case: Case, valid: bool) -> None:
    random = Random(SEED)
    async with Worker.telling() as worker, Router.watching(worker.address) as router:
        await router.starts()
        case.happens("they are sent, ten streams at once, and each stream half-closed")
        async with case.outcome(worker="each stream ends, with a code of the contract if with any", within=55):
            codes = set()
            async with grpc.aio.insecure_channel(worker.address) as channel:
                for _ in range(30):
                    codes |= set(await asyncio.gather(*(converse(channel, random, valid=valid) for _ in range(10))))
            assert codes <= {None, *StreamErrorCode}
            assert StreamErrorCode.INVALID_ARGUMENT in codes
        said = await case.router_says(router, "fresh", within=55)
        assert said["reconnects"] == 0
        await case.worker_says(worker, "r", streams=1, within=55)


@pytest.mark.long
@pytest.mark.fault("random bytes from the worker's port")
async def test_a_router_survives_random_bytes_and_is_fresh_when_the_worker_is_back(case: Case) -> None:
    random = Random(SEED)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            writer.write(random.randbytes(2_000))
            await reader.read()
        writer.transport.abort()

    async with Worker.serving() as worker, Router.watching(worker.address) as router:
        await router.starts()
        await worker.kill()
        noise = await asyncio.start_server(answer, "127.0.0.1", int(worker.port))
        async with noise:
            case.happens("noise listens there")
            await case.router_says(router, "missing", "Failed parsing HTTP/2", within=20)
        async with Worker.serving("--source", "synthetic", "--listen", f"127.0.0.1:{worker.port}"):
            case.happens("a worker listens again")
            await case.router_says(router, "fresh", within=30)


@pytest.mark.parametrize(
    "valid",
    [
        pytest.param(False, marks=pytest.mark.fault("random bytes as frames, from the worker: 3 streams"), id="bytes"),
        pytest.param(True, marks=pytest.mark.fault("random valid frames, from the worker: 3 streams"), id="frames"),
    ],
)
async def test_a_router_calls_no_nonsense_fresh_and_is_fresh_when_the_worker_is_back(case: Case, valid: bool) -> None:
    random = Random(SEED)
    async with Worker.telling() as worker, Proxy(worker.address) as proxy, Router.watching(proxy.address) as router:
        await router.starts()
        async with ScriptedWorker() as liar:
            proxy.target = liar.address
            proxy.reset_all()
            await router.says("missing")
            case.happens("the address leads to a worker that lies")
            async with case.outcome(router="missing, unreachable or stale, with a reason; nothing is fresh", within=50):
                for _ in range(3):
                    stream = await liar.accept()
                    with suppress(grpc.aio.BaseError):
                        await stream.acknowledge()
                        for _ in range(20):
                            await stream.send(nonsense(random, valid=valid))
                        await stream.fail("NONSENSE")
                while (said := await router.tells(after_ns=case.since_ns))["reconnects"] < 3:
                    assert said["freshness"] in {"missing", "unreachable", "stale"}, said
                    assert said["reason"], said
            case.happens("the address leads to the worker again")
            proxy.target = worker.address
            proxy.reset_all()
            await case.router_says(router, "fresh", within=30)
            await case.worker_says(worker, "r", streams=1, within=30)


def nonsense(random: Random, *, valid: bool) -> bytes:
    """Return a frame, mostly a report, or bytes."""
    if not valid:
        return random.randbytes(50)
    if random.random() < 0.9:
        report = LoadReport()
        fill(report, random)
        return WorkerFrame(report=report).SerializeToString()
    return fill(WorkerFrame(), random).SerializeToString()
