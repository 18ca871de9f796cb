"""A puller of both packages: what `RegistryClient` lists goes through p2p-selection and back for its metadata."""

from collections.abc import AsyncIterator

import grpc.aio
import pytest

from p2p_registry import MemoryBackend, SourceGoneError, SourceIdentity
from p2p_registry.client import RegistryClient
from p2p_registry.registration import Registration
from p2p_registry.server import RegistryStub
from p2p_registry.serving import RegistryServer, ServerConfig
from p2p_registry.wire import SourceStatus, WorkerMetadata
from p2p_selection import (
    AttemptOutcome,
    Candidate,
    Fate,
    LoadAware,
    MetadataMissError,
    SelectionPipeline,
    Target,
    attempt,
)

MODEL = SourceIdentity(model_name="m")
LOADS = {"idle": 0.0, "light": 0.3, "mute": None, "busy": 0.9}


@pytest.fixture
async def channel() -> AsyncIterator[grpc.aio.Channel]:
    """The way to a registry that knows a READY source for each load."""
    async with (
        RegistryServer(MemoryBackend(), ServerConfig(listen="127.0.0.1:0")) as server,
        grpc.aio.insecure_channel(server.address) as channel,
    ):
        stub = RegistryStub(channel)
        for worker_id, load in LOADS.items():
            metadata = WorkerMetadata(worker_rank=1, agent_name=worker_id, topology={"rack": "r"}, accelerator="cuda")
            source = Registration(identity=MODEL, metadata=metadata, worker_id=worker_id)
            source_id = (await stub.PublishMetadata(source.publication())).mx_source_id
            assert (await stub.UpdateStatus(source.update(source_id, SourceStatus.SOURCE_STATUS_READY, load))).success
        yield channel


async def test_listed_sources_are_candidates_with_unknown_apart_from_idle(channel: grpc.aio.Channel) -> None:
    listing = await RegistryClient(channel).list_sources(MODEL)
    # So great a weight that load alone ranks.
    pipeline = SelectionPipeline(LoadAware(weight=1e6), limit=None)
    selection = pipeline.select(listing.sources, Target("m", "me", 1, accelerator="cuda"))
    assert [verdict.fate for verdict in selection.verdicts] == [Fate.CHOSEN] * 4
    assert [source.worker_id for source in selection.sources] == ["idle", "light", "mute", "busy"]
    loads = {source.worker_id: source.source_load for source in selection.sources}
    assert loads == pytest.approx(LOADS, nan_ok=False)
    times = {source.worker_id: source.updated_at_ms for source in listing.sources}
    assert {source.worker_id: source.updated_at_ms for source in selection.sources} == times
    assert dict(selection.sources[0].topology) == {"rack": "r"}
    # A process doesn't pull from itself, nor from another rank.
    assert "idle" not in [
        source.worker_id for source in pipeline.select(listing.sources, Target("m", "idle", 1)).sources
    ]
    assert pipeline.select(listing.sources, Target("m", "me", 0)).sources == ()


async def test_a_source_that_is_gone_by_then_costs_no_attempt_and_the_next_one_is_pulled_from(
    channel: grpc.aio.Channel,
) -> None:
    client, stub = RegistryClient(channel), RegistryStub(channel)
    listing = await client.list_sources(MODEL)
    gone = Registration(identity=MODEL, metadata=WorkerMetadata(worker_rank=1), worker_id="idle")
    source_id = listing.sources[0].mx_source_id
    assert (await stub.UpdateStatus(gone.update(source_id, SourceStatus.SOURCE_STATUS_STALE, None))).success
    pipeline = SelectionPipeline(LoadAware(weight=1e6))
    outcomes = []

    class Feedback:
        def attempted(
            self, candidate: Candidate, outcome: AttemptOutcome, seconds: float, error: Exception | None = None
        ) -> None:
            del seconds, error
            outcomes.append((candidate.worker_id, outcome))

    async def pull(candidate: Candidate) -> WorkerMetadata:
        try:
            return await client.metadata(candidate)
        except SourceGoneError as error:
            raise MetadataMissError(str(error)) from error

    chosen = pipeline.select(listing.sources, Target("m", "me", 1)).sources
    source, metadata = await attempt(chosen, pull, budget=1, feedback=Feedback())
    assert (source.worker_id, metadata.agent_name) == ("light", "light")
    assert outcomes == [("idle", AttemptOutcome.METADATA_MISS), ("light", AttemptOutcome.SUCCESS)]
