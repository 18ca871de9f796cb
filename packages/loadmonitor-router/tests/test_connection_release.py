"""A client that has lost its stream keeps no connection while it waits to dial again, nor when it never will."""

import asyncio
import gc
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import grpc
import pytest

from loadmonitor_proto import RegisterRequest, RouterFrame, StreamError, WorkerFrame
from loadmonitor_router import ConnectionState, MonitorClient
from loadmonitor_router._clock import Signal, SystemClock
from loadmonitor_router._link import Link
from loadmonitor_router._stream import StreamLostError
from loadmonitor_router.testing import ManualClock, ScriptedStream, ScriptedWorker, wire_report

pytestmark = pytest.mark.usefixtures("leaves_nothing")

WAIT_SECONDS = 20
OVER = {ConnectionState.BACKING_OFF, ConnectionState.FAILED}


async def ends(stream: ScriptedStream) -> None:
    await stream.end()


async def dies(stream: ScriptedStream) -> None:
    await stream.end(grpc.StatusCode.UNAVAILABLE, "gone")


async def sends_an_error(stream: ScriptedStream) -> None:
    await stream.send(WorkerFrame(error=StreamError(code="SESSION_REPLACED")))


async def refuses(stream: ScriptedStream) -> None:
    await stream.send(WorkerFrame(error=StreamError(code="PERMISSION_DENIED")))


async def sends_what_is_no_frame(stream: ScriptedStream) -> None:
    await stream.send(b"\xff")


async def acknowledges_twice(stream: ScriptedStream) -> None:
    await stream.acknowledge()


@pytest.fixture
async def worker() -> AsyncIterator[ScriptedWorker]:
    async with ScriptedWorker() as scripted:
        yield scripted


@pytest.fixture
def no_collector() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


def descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize(
    "misbehaves", [ends, dies, sends_an_error, refuses, sends_what_is_no_frame, acknowledges_twice]
)
async def test_a_lost_stream_leaves_no_connection_open(
    worker: ScriptedWorker, clock: ManualClock, misbehaves: Callable[[ScriptedStream], Awaitable[None]]
) -> None:
    before = descriptors()
    async with MonitorClient(worker.address, router_id="r", clock=clock) as client:
        stream = await worker.accept()
        await stream.acknowledge()
        await stream.report(wire_report(1))
        await anext(client)
        assert descriptors() == before + 2  # one end each
        await misbehaves(stream)
        async with asyncio.timeout(WAIT_SECONDS):
            while client.connection.state not in OVER or descriptors() > before:  # noqa: ASYNC110
                await asyncio.sleep(0)


@pytest.mark.usefixtures("no_collector")
async def test_a_link_that_was_given_up_keeps_no_connection_while_its_loss_is_looked_at(worker: ScriptedWorker) -> None:
    clock = SystemClock()
    signal = Signal(clock)
    before = descriptors()
    with pytest.raises(StreamLostError, match="takes no frame") as loss:
        await give_up(Link(worker.address, (), signal, clock), worker, signal, clock)
    async with asyncio.timeout(WAIT_SECONDS):
        while descriptors() > before:  # noqa: ASYNC110
            await asyncio.sleep(0)
    assert loss.value.__traceback__ is not None


@pytest.mark.usefixtures("no_collector")
async def test_frames_after_the_last_one_wanted_keep_no_connection_when_a_write_had_failed(
    worker: ScriptedWorker,
) -> None:
    clock = SystemClock()
    signal = Signal(clock)
    until_ns = clock.monotonic_ns() + WAIT_SECONDS * 10**9
    before = descriptors()

    def take(_: object) -> None:
        raise StreamLostError("not what was wanted")

    async with Link(worker.address, (), signal, clock) as link:
        await link.send(RouterFrame(register=RegisterRequest(router_id="r")), until_ns, "too late")
        stream = await worker.accept()
        for number in range(1, 4):
            await stream.report(wire_report(number))
        await stream.end(grpc.StatusCode.UNAVAILABLE, "gone")
        while not link._call.done():
            await link.send(RouterFrame(), until_ns, "too late")
            await asyncio.sleep(0)
        link.start_reading(take)
        await signal.wait(until_ns)
    async with asyncio.timeout(WAIT_SECONDS):
        while descriptors() > before:  # noqa: ASYNC110
            await asyncio.sleep(0)


async def give_up(link: Link, worker: ScriptedWorker, signal: Signal, clock: SystemClock) -> None:
    until_ns = clock.monotonic_ns() + WAIT_SECONDS * 10**9
    async with link:
        link.start_reading(lambda _: None)
        await link.send(RouterFrame(register=RegisterRequest(router_id="r")), until_ns, "too late")
        await worker.accept()
        link.abort("the Worker takes no frame")
        while True:
            link.check()
            await signal.wait(until_ns)
