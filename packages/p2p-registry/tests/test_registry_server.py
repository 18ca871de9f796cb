"""The service on a real gRPC server, and the reaper's clockwork."""

import asyncio
import logging
from collections.abc import AsyncIterator

import grpc.aio
import pytest

from p2p_registry import BackendError, MemoryBackend, Reaped, RegistryService
from p2p_registry.server import CHANNEL_OPTIONS, RegistryStub, add_registry_service, reap_forever
from p2p_registry.wire import (
    GetMetadataRequest,
    ListSourcesRequest,
    PublishMetadataRequest,
    SourceIdentity,
    SourceStatus,
    TensorDescriptor,
    TensorSourceMetadata,
    UpdateStatusRequest,
    WorkerMetadata,
)


@pytest.fixture
async def stub() -> AsyncIterator[RegistryStub]:
    """A client of a registry on the loopback address."""
    server = grpc.aio.server(options=CHANNEL_OPTIONS)
    add_registry_service(RegistryService(MemoryBackend()), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=CHANNEL_OPTIONS) as channel:
        yield RegistryStub(channel)
    await server.stop(None)


async def test_a_source_publishes_beats_and_is_found_over_grpc(stub: RegistryStub) -> None:
    # More than the 4 MiB that gRPC takes by itself.
    tensors = [TensorDescriptor(name="layer" * 40, addr=n, size=n, dtype="bfloat16") for n in range(30_000)]
    worker = WorkerMetadata(tensor_source=TensorSourceMetadata(tensors=tensors), agent_name="agent")
    published = await stub.PublishMetadata(
        PublishMetadataRequest(identity=SourceIdentity(model_name="m"), worker=worker, worker_id="w")
    )
    assert published.success

    beat = UpdateStatusRequest(
        mx_source_id=published.mx_source_id, worker_id="w", status=SourceStatus.SOURCE_STATUS_READY, source_load=0.0
    )
    assert (await stub.UpdateStatus(beat)).success
    (instance,) = (await stub.ListSources(ListSourcesRequest(status_filter=SourceStatus.SOURCE_STATUS_READY))).instances
    assert instance.HasField("source_load")
    beat.ClearField("source_load")
    assert (await stub.UpdateStatus(beat)).success
    (instance,) = (await stub.ListSources(ListSourcesRequest())).instances
    assert not instance.HasField("source_load")

    found = await stub.GetMetadata(GetMetadataRequest(mx_source_id=published.mx_source_id, worker_id="w"))
    assert found.found
    assert found.worker.tensor_source == worker.tensor_source


async def test_refusals_are_answers_and_no_grpc_errors(stub: RegistryStub) -> None:
    assert not (await stub.PublishMetadata(PublishMetadataRequest())).success
    assert not (await stub.UpdateStatus(UpdateStatusRequest(mx_source_id="x", worker_id="w"))).success
    assert not (await stub.GetMetadata(GetMetadataRequest())).found
    assert not (await stub.ListSources(ListSourcesRequest())).instances


class FailsOnce(RegistryService):
    """Its store fails at the first pass of the reaper."""

    def __init__(self) -> None:
        super().__init__(MemoryBackend())
        self.passes = 0

    async def reap(self) -> Reaped:
        self.passes += 1
        if self.passes == 1:
            raise BackendError("gone")
        return Reaped(marked_stale=2, removed=1)


async def test_the_reaper_goes_on_after_a_failure_of_the_store_until_cancelled(
    caplog: pytest.LogCaptureFixture,
) -> None:
    service = FailsOnce()
    pauses: list[float] = []
    third = asyncio.Event()

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            third.set()
            await asyncio.Event().wait()

    with caplog.at_level(logging.INFO):
        task = asyncio.create_task(reap_forever(service, interval_seconds=12, sleep=sleep))
        await third.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert (service.passes, pauses) == (3, [12, 12, 12])
    assert [record.message for record in caplog.records if record.name == "p2p_registry.server"] == [
        "silent workers can't be reaped: gone",
        *["silent workers: 2 marked stale, 1 removed"] * 2,
    ]
