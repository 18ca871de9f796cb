"""What the tests of the server and of its commands share: a store that fails on demand, and requests."""

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import grpc.aio

from p2p_registry import BackendError, MemoryBackend, WorkerSummary
from p2p_registry.server import CHANNEL_OPTIONS, RegistryStub
from p2p_registry.wire import (
    PublishMetadataRequest,
    SourceIdentity,
    SourceStatus,
    UpdateStatusRequest,
    UpdateStatusResponse,
    WorkerMetadata,
)

COMMAND = str(Path(sys.executable).with_name("p2p-registry"))
WAIT_SECONDS = 50
SERVING, NOT_SERVING, SERVICE_UNKNOWN = b"\x08\x01", b"\x08\x02", b"\x08\x03"


class Store(MemoryBackend):
    """A store in memory that is gone, or silent, when the test says so, or lists only so many times more."""

    def __init__(self) -> None:
        super().__init__()
        self.gone = False
        self.silent = False
        self.summaries_left: int | None = None

    async def ping(self) -> None:
        if self.gone:
            raise BackendError("no connection")
        if self.silent:
            await asyncio.Event().wait()

    async def summaries(self, source_id: str | None) -> Sequence[WorkerSummary]:
        if self.gone or self.summaries_left == 0:
            raise BackendError("no connection")
        if self.summaries_left is not None:
            self.summaries_left -= 1
        return await super().summaries(source_id)


async def publish(stub: RegistryStub, worker_id: str, *, model_name: str = "m", rank: int = 0) -> str:
    """Publish a worker and return its source id."""
    worker = WorkerMetadata(worker_rank=rank, accelerator="cuda", topology={"rack": "r1"})
    answer = await stub.PublishMetadata(
        PublishMetadataRequest(identity=SourceIdentity(model_name=model_name), worker=worker, worker_id=worker_id)
    )
    assert answer.success
    return answer.mx_source_id


async def beat(
    stub: RegistryStub,
    source_id: str,
    worker_id: str,
    load: float | None = None,
    status: "SourceStatus.ValueType" = SourceStatus.SOURCE_STATUS_READY,
) -> UpdateStatusResponse:
    """Send one heartbeat."""
    return await stub.UpdateStatus(
        UpdateStatusRequest(mx_source_id=source_id, worker_id=worker_id, status=status, source_load=load)
    )


@asynccontextmanager
async def dialled(address: str, credentials: grpc.ChannelCredentials | None = None) -> AsyncIterator[grpc.aio.Channel]:
    """A connection of its own."""
    options = [*CHANNEL_OPTIONS, ("grpc.use_local_subchannel_pool", 1)]
    channel = (
        grpc.aio.insecure_channel(address, options)
        if credentials is None
        else grpc.aio.secure_channel(address, credentials, options)
    )
    async with channel:
        yield channel


def question(service: str) -> bytes:
    """Return an encoded HealthCheckRequest."""
    return b"\x0a" + bytes([len(service)]) + service.encode() if service else b""


async def check(channel: grpc.aio.Channel, service: str = "") -> bytes:
    """Ask `grpc.health.v1` once."""
    call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary("/grpc.health.v1.Health/Check")
    return await call(question(service), timeout=WAIT_SECONDS)


def watch(channel: grpc.aio.Channel, service: str = "") -> "grpc.aio.UnaryStreamCall[bytes, bytes]":
    """Watch `grpc.health.v1`."""
    method: grpc.aio.UnaryStreamMultiCallable[bytes, bytes] = channel.unary_stream("/grpc.health.v1.Health/Watch")
    return method(question(service))


class Served:
    """A `serve` in a process of its own.

    Attributes:
        process: The process.
        address: Where it serves.
        http: Its second listener as HOST:PORT, or "".
    """

    def __init__(self, process: asyncio.subprocess.Process, address: str, http: str) -> None:
        self.process = process
        self.address = address
        self.http = http

    async def stop(self) -> tuple[int, str]:
        """Send SIGTERM, and return the exit code and what was logged."""
        self.process.terminate()
        _, logged = await self.process.communicate()
        assert self.process.returncode is not None
        return self.process.returncode, logged.decode()


@asynccontextmanager
async def serving(*arguments: str, http: bool = False) -> AsyncIterator[Served]:
    """Run `p2p-registry serve` on free ports; it has ended afterwards."""
    ports = ["--listen", "127.0.0.1:0", *(["--http-port", "0"] if http else ["--no-http-port"])]
    process = await asyncio.create_subprocess_exec(
        COMMAND, "serve", *ports, *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            address = (await process.stdout.readline()).decode().strip()
            assert address.startswith("listening on 127.0.0.1:"), (await process.communicate())[1].decode()
            metrics = (await process.stdout.readline()).decode().strip() if http else ""
            yield Served(
                process,
                address.removeprefix("listening on "),
                metrics.removeprefix("metrics at http://").removesuffix("/metrics"),
            )
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def ask(address: str, request: str) -> tuple[int, str, str]:
    """Send one HTTP request; return the status, the head and the body."""
    host, _, port = address.rpartition(":")
    async with asyncio.timeout(WAIT_SECONDS):
        reader, writer = await asyncio.open_connection(host.strip("[]"), int(port))
        writer.write(f"{request} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        answer = (await reader.read()).decode()
        writer.close()
    head, _, body = answer.partition("\r\n\r\n")
    return int(head.split(" ")[1]), head, body
