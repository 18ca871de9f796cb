"""`grpc.health.v1` on the reporter's port, asked byte by byte."""

import asyncio

import grpc.aio
import pytest
from worker_bench import WAIT_SECONDS, Bench

from loadmonitor_proto.service import SERVICE_NAME
from loadmonitor_worker import WorkerState
from loadmonitor_worker._health import MAX_WATCHERS

SERVING, NOT_SERVING, SERVICE_UNKNOWN = b"\x08\x01", b"\x08\x02", b"\x08\x03"


def request(service: str) -> bytes:
    """Return an encoded HealthCheckRequest."""
    return b"\x0a" + bytes([len(service)]) + service.encode() if service else b""


async def check(bench: Bench, message: bytes) -> bytes:
    async with grpc.aio.insecure_channel(bench.reporter.address) as channel:
        call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary("/grpc.health.v1.Health/Check")
        return await call(message, timeout=WAIT_SECONDS)


def watch(channel: grpc.aio.Channel, service: str) -> "grpc.aio.UnaryStreamCall[bytes, bytes]":
    method: grpc.aio.UnaryStreamMultiCallable[bytes, bytes] = channel.unary_stream("/grpc.health.v1.Health/Watch")
    return method(request(service))


@pytest.mark.parametrize("service", ["", SERVICE_NAME])
async def test_the_reporter_is_serving_whatever_its_engine_does(bench: Bench, service: str) -> None:
    bench.source.error = RuntimeError("gone")
    bench.reporter.set_worker_state(WorkerState.DRAINING)
    assert await check(bench, request(service)) == SERVING


async def test_fields_of_a_newer_request_are_skipped(bench: Bench) -> None:
    assert await check(bench, b"\x12\x03new") == SERVING


async def test_another_service_is_not_found(bench: Bench) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await check(bench, request("other.Service"))
    assert caught.value.code() is grpc.StatusCode.NOT_FOUND
    assert "'other.Service'" in (caught.value.details() or "")


@pytest.mark.parametrize(("service", "first", "last"), [
    ("", SERVING, NOT_SERVING),
    (SERVICE_NAME, SERVING, NOT_SERVING),
    ("other.Service", SERVICE_UNKNOWN, SERVICE_UNKNOWN),
])  # fmt: skip
async def test_who_watches_is_told_when_the_reporter_closes(
    bench: Bench, service: str, first: bytes, last: bytes
) -> None:
    async with grpc.aio.insecure_channel(bench.reporter.address) as channel:
        call = watch(channel, service)
        async with asyncio.timeout(WAIT_SECONDS):
            assert await call.read() == first
            closing = asyncio.create_task(bench.reporter.close())
            assert await call.read() == last
            assert await call.read() is grpc.aio.EOF
            assert await call.code() is grpc.StatusCode.OK
            await closing


async def test_a_watcher_that_leaves_makes_room_and_one_too_many_is_turned_away(bench: Bench) -> None:
    watchers = bench.reporter._server._health._watchers
    async with grpc.aio.insecure_channel(bench.reporter.address) as channel:
        calls = [watch(channel, "") for _ in range(MAX_WATCHERS)]
        async with asyncio.timeout(WAIT_SECONDS):
            assert [await call.read() for call in calls] == [SERVING] * MAX_WATCHERS
            beyond = watch(channel, "")
            with pytest.raises(grpc.aio.AioRpcError, match="64 clients watch already"):
                await beyond.read()
            assert await beyond.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
            calls[0].cancel()
            await bench.seen(lambda: len(watchers) == MAX_WATCHERS - 1)
            assert await watch(channel, "").read() == SERVING
    await bench.seen(lambda: not watchers)


async def test_the_standard_messages_may_be_in_the_default_pool_too(bench: Bench) -> None:
    from google.protobuf import descriptor_pb2, descriptor_pool

    file = descriptor_pb2.FileDescriptorProto(name="grpc/health/v1/health.proto", package="grpc.health.v1")
    file.message_type.add(name="HealthCheckRequest").field.add(name="other", number=7, type=3, label=1)
    descriptor_pool.Default().Add(file)
    assert await check(bench, request("")) == SERVING
