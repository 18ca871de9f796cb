"""The puller's client against real servers: freshness, presence, and the generation of what it reads."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

import grpc.aio
import pytest

from p2p_registry import (
    InvalidIdentityError,
    MemoryBackend,
    Reaped,
    RegistryService,
    RegistryUnreachableError,
    SettingError,
    SourceGoneError,
    SourceIdentity,
)
from p2p_registry.client import ListedSource, RegistryClient
from p2p_registry.server import CHANNEL_OPTIONS, add_registry_service
from p2p_registry.wire import (
    GetMetadataRequest,
    GetMetadataResponse,
    ListSourcesRequest,
    ListSourcesResponse,
    PublishMetadataRequest,
    SourceInstanceRef,
    UpdateStatusRequest,
    WorkerMetadata,
)
from p2p_registry.wire import SourceIdentity as WireIdentity
from p2p_registry.wire import SourceStatus as Wire

NOW_MS = 1_800_000_000_000
MODEL = SourceIdentity(model_name="m", tensor_parallel_size=8, extra_parameters={"layout_signature": "l"})


@asynccontextmanager
async def client_of(service: RegistryService) -> AsyncIterator[RegistryClient]:
    """Serve `service` on the loopback address and connect to it."""
    server = grpc.aio.server(options=CHANNEL_OPTIONS)
    add_registry_service(service, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=CHANNEL_OPTIONS) as channel:
        yield RegistryClient(channel, now_ms=lambda: NOW_MS)
    await server.stop(None)


async def publish(
    service: RegistryService, worker_id: str, status: "Wire.ValueType", load: float | None = None
) -> None:
    identity = WireIdentity(model_name="m", tensor_parallel_size=8, extra_parameters={"layout_signature": "l"})
    worker = WorkerMetadata(worker_rank=2, accelerator="cuda", topology={"rack": "r"}, agent_name=worker_id)
    published = await service.publish_metadata(
        PublishMetadataRequest(identity=identity, worker=worker, worker_id=worker_id)
    )
    update = UpdateStatusRequest(
        mx_source_id=published.mx_source_id, worker_id=worker_id, worker_rank=2, source_load=load, status=status
    )
    assert (await service.update_status(update)).success


class Answers(RegistryService):
    """Another version of the registry: it answers what it is told to."""

    def __init__(self, instances: list[SourceInstanceRef], metadata: GetMetadataResponse) -> None:
        super().__init__(MemoryBackend())
        self._instances = instances
        self._metadata = metadata

    async def list_sources(self, request: ListSourcesRequest) -> ListSourcesResponse:
        del request
        return ListSourcesResponse(instances=self._instances)

    async def get_metadata(self, request: GetMetadataRequest) -> GetMetadataResponse:
        del request
        return self._metadata


async def test_ready_sources_are_listed_with_the_presence_of_their_load_and_their_metadata_is_read() -> None:
    service = RegistryService(MemoryBackend(), now_ms=lambda: NOW_MS)
    for worker_id, load in (("a", None), ("b", 0.0), ("c", 0.75)):
        await publish(service, worker_id, Wire.SOURCE_STATUS_READY, load)
    await publish(service, "d", Wire.SOURCE_STATUS_STALE)
    async with client_of(service) as client:
        listing = await client.list_sources(MODEL)
        assert [(source.worker_id, source.source_load) for source in listing.sources] == [
            ("a", None),
            ("b", 0.0),
            ("c", 0.75),
        ]
        assert (listing.hidden, listing.silent) == (None, None)
        first = listing.sources[0]
        assert first == ListedSource(
            mx_source_id=first.mx_source_id,
            worker_id="a",
            worker_rank=2,
            source_load=None,
            topology={"rack": "r"},
            updated_at_ms=NOW_MS,
            accelerator="cuda",
            model_name="m",
            training_step=None,
            layout_signature="l",
        )
        assert (await client.metadata(first)).agent_name == "a"


async def test_where_no_source_is_ready_the_listing_tells_how_many_are_hidden() -> None:
    service = RegistryService(MemoryBackend(), now_ms=lambda: NOW_MS)
    async with client_of(service) as client:
        assert (await client.list_sources(MODEL)).hidden == 0
        await publish(service, "a", Wire.SOURCE_STATUS_STALE)
        await publish(service, "b", Wire.SOURCE_STATUS_UNKNOWN)
        listing = await client.list_sources(MODEL)
        assert (listing.sources, listing.hidden, listing.silent) == ((), 2, 0)
        assert (await client.list_sources(SourceIdentity(model_name="other"))).hidden == 0


async def test_a_source_that_published_once_and_fell_silent_is_told_apart_from_none() -> None:
    now_ms = NOW_MS - 120_000
    service = RegistryService(MemoryBackend(), now_ms=lambda: now_ms)
    async with client_of(service) as client:
        await publish(service, "a", Wire.SOURCE_STATUS_READY)
        now_ms = NOW_MS
        assert await service.reap() == Reaped(marked_stale=1, removed=0)
        listing = await client.list_sources(MODEL)
        assert (listing.sources, listing.hidden, listing.silent) == ((), 1, 1)


async def test_old_heartbeats_that_a_registry_lists_are_left_out() -> None:
    times = {"now": NOW_MS, "limit": NOW_MS - 90_000, "old": NOW_MS - 90_001, "never": 0, "ahead": NOW_MS + 5000}
    instances = [SourceInstanceRef(worker_id=name, updated_at=at) for name, at in times.items()]
    async with client_of(Answers(instances, GetMetadataResponse())) as client:
        listing = await client.list_sources(MODEL)
    assert [source.worker_id for source in listing.sources] == ["now", "limit", "ahead"]


@pytest.mark.parametrize(
    ("answer", "gone"),
    [
        (GetMetadataResponse(found=True, mx_source_id="s", worker_id="w"), False),
        (GetMetadataResponse(found=True), False),
        (GetMetadataResponse(found=True, mx_source_id="s", worker_id="restarted"), True),
        (GetMetadataResponse(found=True, mx_source_id="t", worker_id="w"), True),
        (GetMetadataResponse(found=True, worker=WorkerMetadata(worker_rank=1)), True),
        (GetMetadataResponse(found=True, worker=WorkerMetadata(status=Wire.SOURCE_STATUS_STALE)), True),
        (GetMetadataResponse(mx_source_id="s", worker_id="w"), True),
    ],
    ids=["same", "names nobody", "another process", "another source", "another rank", "said goodbye", "not found"],
)
async def test_metadata_of_another_generation_is_refused(answer: GetMetadataResponse, gone: bool) -> None:
    listed = [SourceInstanceRef(mx_source_id="s", worker_id="w", updated_at=NOW_MS)]
    async with client_of(Answers(listed, answer)) as client:
        (source,) = (await client.list_sources(MODEL)).sources
        if not gone:
            assert await client.metadata(source) == WorkerMetadata()
            return
        with pytest.raises(SourceGoneError, match="next source"):
            await client.metadata(source)


async def test_a_registry_that_is_not_there_is_an_error_and_no_empty_list() -> None:
    server = grpc.aio.server()
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        with pytest.raises(RegistryUnreachableError, match="UNIMPLEMENTED"):
            await RegistryClient(channel).list_sources(MODEL)
    await server.stop(None)


async def test_what_a_client_cannot_ask_with_is_refused_in_words() -> None:
    async with client_of(RegistryService(MemoryBackend())) as client:
        with pytest.raises(InvalidIdentityError, match="not the wire's message"):
            await client.list_sources(cast("SourceIdentity", WireIdentity(model_name="m")))
    async with grpc.aio.insecure_channel("127.0.0.1:1") as channel:
        for seconds in (0, -1, float("nan"), float("inf")):
            with pytest.raises(SettingError, match=r"timeout_seconds=.+ is not allowed: a number above 0 is"):
                RegistryClient(channel, timeout_seconds=seconds)
