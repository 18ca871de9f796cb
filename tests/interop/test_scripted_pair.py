"""The scripted Router of one package and the scripted Worker of the other: whoever writes one side can play both."""

import grpc
import pytest

from loadmonitor_router.testing import ScriptedWorker, wire_report
from loadmonitor_worker.testing import ScriptedRouter


async def test_a_whole_session_by_script() -> None:
    async with ScriptedWorker() as worker, ScriptedRouter(worker.address) as router:
        await router.keep_alive()  # no rule of the contract is in the way of a script
        stream = await worker.accept()
        await stream.report(wire_report(7))
        assert (await router.report()).sequence_id == 7
        await router.update_config(lease_ttl_ms=5)
        frame = await stream.receive()
        assert frame is not None
        assert frame.update_config.lease_ttl_ms == 5
        await stream.fail("A_WORD_OF_TOMORROW", "why not")
        error = await router.ended()
        assert error is not None
        assert (error.code, error.message, router.status) == ("A_WORD_OF_TOMORROW", "why not", grpc.StatusCode.OK)


async def test_a_worker_of_the_first_version_and_a_status() -> None:
    async with ScriptedWorker() as worker, ScriptedRouter(worker.address) as router:
        await router.send(b"\x0a\x09\x0a\x01r\x10\xe8\x07\x18\x98\x75")  # a register, byte by byte
        stream = await worker.accept()
        register = stream.register
        assert (register.router_id, register.report_interval_ms, register.lease_ttl_ms) == ("r", 1_000, 15_000)
        await stream.acknowledge(extended=False)
        granted = await router.receive()
        assert granted is not None
        assert granted.registered.ListFields()[-1][0].number == 2
        await stream.end(grpc.StatusCode.UNAVAILABLE, "drained")
        assert await router.ended() is None
        assert router.status is grpc.StatusCode.UNAVAILABLE


async def test_bytes_that_are_no_frame_are_told_to_who_waits_for_one() -> None:
    async with ScriptedWorker() as worker, ScriptedRouter(worker.address) as router:
        await router.send(b"\x0a\xff\xff\xff")
        with pytest.raises(AssertionError, match="the Router sent bytes that are no RouterFrame"):
            await worker.accept()


async def test_bytes_of_a_worker_that_are_no_frame_are_told_too() -> None:
    async with ScriptedWorker() as worker, ScriptedRouter(worker.address) as router:
        await router.keep_alive()
        stream = await worker.accept()
        await stream.send(b"\x12\xff")
        with pytest.raises(AssertionError, match="the Worker sent bytes that are no WorkerFrame"):
            await router.receive()
