"""One call over real gRPC: what it owes to the client above it."""

import pytest

from loadmonitor_proto import KeepAlive, RegisterRequest, RouterFrame, WorkerFrame
from loadmonitor_router._clock import Signal, SystemClock
from loadmonitor_router._link import Link
from loadmonitor_router._stream import StreamLostError
from loadmonitor_router.testing import ScriptedWorker, wire_report

pytestmark = pytest.mark.usefixtures("leaves_nothing")

FAR_NS = 2**62


async def test_frames_that_arrived_are_taken_in_although_a_write_has_found_the_call_over() -> None:
    """What a stalled router finds: its Worker has said why it hangs up, and the late renewal is written first."""
    signal = Signal(SystemClock())
    taken: list[WorkerFrame | None] = []
    async with ScriptedWorker() as worker, Link(worker.address, (), signal, SystemClock()) as link:
        while not link.connected():
            await signal.wait(FAR_NS)
        await link.send(RouterFrame(register=RegisterRequest(router_id="r")), FAR_NS, "slow")
        stream = await worker.accept()
        await stream.acknowledge()
        await stream.report(wire_report(1))
        await stream.fail("LEASE_EXPIRED")
        while link._failure == "the Worker ended the stream":
            await link.send(RouterFrame(keep_alive=KeepAlive()), FAR_NS, "slow")
        link.start_reading(taken.append)
        with pytest.raises(StreamLostError, match="while a frame was on its way"):  # noqa: PT012
            while True:
                link.check()
                await signal.wait(FAR_NS)
    assert [frame.WhichOneof("payload") for frame in taken if frame] == ["registered", "report", "error"]
