"""The service's answers: what is stored, what is listed and in which order, and what a refusal looks like."""

import logging
import math
import random

import pytest

from p2p_registry import (
    Backend,
    BackendError,
    MemoryBackend,
    RegistryService,
    SourceStatus,
    UpdateOutcome,
    WorkerKey,
    WorkerRecord,
    WorkerState,
    WorkerSummary,
    mx_source_id,
)
from p2p_registry import SourceIdentity as Identity
from p2p_registry.wire import (
    GetMetadataRequest,
    ListSourcesRequest,
    PublishMetadataRequest,
    SourceIdentity,
    SourceInstanceRef,
    UpdateStatusRequest,
    WorkerMetadata,
)
from p2p_registry.wire import SourceStatus as Wire

START_MS = 1_800_000_000_000
READY = Wire.SOURCE_STATUS_READY
SOURCE = mx_source_id(Identity(model_name="m"))


class Clock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.ms = START_MS

    def __call__(self) -> int:
        return self.ms


class LostStore:
    """A store that nobody reaches."""

    async def publish(self, record: WorkerRecord) -> None:
        raise BackendError(f"no connection for {record.summary.key.worker_id}")

    async def update_state(self, key: WorkerKey, state: WorkerState) -> UpdateOutcome:
        raise BackendError(f"no connection for {key} {state}")

    async def get(self, source_id: str, worker_id: str) -> WorkerRecord | None:
        raise BackendError(f"no connection for {source_id} {worker_id}")

    async def summaries(self, source_id: str | None) -> list[WorkerSummary]:
        raise BackendError(f"no connection for {source_id}")

    async def mark_stale(self, source_id: str, worker_id: str, not_after_ms: int) -> bool:
        raise BackendError(f"no connection for {source_id} {worker_id} {not_after_ms}")

    async def remove(self, source_id: str, worker_id: str, not_after_ms: int) -> bool:
        raise BackendError(f"no connection for {source_id} {worker_id} {not_after_ms}")

    async def ping(self) -> None:
        raise BackendError("no connection")

    async def aclose(self) -> None:
        pass


class Registry:
    """A service with a clock of its own on a store, and the requests that tests send it."""

    def __init__(
        self, backend: Backend | None = None, clock: Clock | None = None, *, refuse_invalid_load: bool = False
    ) -> None:
        self.clock = clock or Clock()
        self.backend = MemoryBackend() if backend is None else backend
        self.service = RegistryService(self.backend, now_ms=self.clock, refuse_invalid_load=refuse_invalid_load)

    async def publish(
        self, worker_id: str = "w", rank: int = 0, model: str = "m", extra: dict[str, str] | None = None
    ) -> str:
        answer = await self.service.publish_metadata(
            PublishMetadataRequest(
                identity=SourceIdentity(model_name=model, extra_parameters=extra),
                worker=WorkerMetadata(worker_rank=rank, status=Wire.SOURCE_STATUS_INITIALIZING, accelerator="cuda"),
                worker_id=worker_id,
            )
        )
        assert answer.success, answer.message
        return answer.mx_source_id

    async def update(
        self, worker_id: str = "w", load: float | None = None, *, rank: int = 0, status: int = SourceStatus.READY
    ) -> bool:
        request = UpdateStatusRequest(mx_source_id=SOURCE, worker_id=worker_id, worker_rank=rank, source_load=load)
        setattr(request, "status", status)  # noqa: B010 - a number that the wire's enum need not know
        return (await self.service.update_status(request)).success

    async def listed(self, request: ListSourcesRequest | None = None) -> list[SourceInstanceRef]:
        return list((await self.service.list_sources(request or ListSourcesRequest())).instances)

    async def ids(self, request: ListSourcesRequest | None = None) -> list[str]:
        return [instance.worker_id for instance in await self.listed(request)]


async def test_a_publication_is_answered_with_the_canonical_id_and_listed() -> None:
    registry = Registry()
    answer = await registry.service.publish_metadata(
        PublishMetadataRequest(
            identity=SourceIdentity(model_name="Модель", extra_parameters={"layout_signature": "l", "version": "7"}),
            worker=WorkerMetadata(worker_rank=3, accelerator="xpu", topology={"rack": "r"}, updated_at=5),
            worker_id="w",
        )
    )
    source_id = mx_source_id(Identity(model_name="Модель", extra_parameters={"layout_signature": "l", "version": "7"}))
    assert (answer.success, answer.mx_source_id, answer.worker_id) == (True, source_id, "w")
    assert await registry.listed() == [
        SourceInstanceRef(
            mx_source_id=source_id,
            worker_id="w",
            model_name="Модель",
            worker_rank=3,
            accelerator="xpu",
            updated_at=START_MS,
            training_step=7,
            layout_signature="l",
            topology={"rack": "r"},
        )
    ]


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (PublishMetadataRequest(worker_id="w", worker=WorkerMetadata()), "identity is required"),
        (
            PublishMetadataRequest(identity=SourceIdentity(dtype="x"), worker_id="w", worker=WorkerMetadata()),
            "identity.model_name is required",
        ),
        (PublishMetadataRequest(identity=SourceIdentity(model_name="m"), worker=WorkerMetadata()), "worker_id is"),
        (PublishMetadataRequest(identity=SourceIdentity(model_name="m"), worker_id="w"), "worker is required"),
        (
            PublishMetadataRequest(
                identity=SourceIdentity(model_name="m"), worker_id="w", worker=WorkerMetadata.FromString(b"\x20\x09")
            ),
            "invalid status value: 9",
        ),
    ],
)
async def test_an_incomplete_publication_is_refused_in_the_answer(
    request_: PublishMetadataRequest, message: str
) -> None:
    registry = Registry()
    answer = await registry.service.publish_metadata(request_)
    assert not answer.success
    assert answer.message.startswith(message)
    assert await registry.listed() == []


async def test_every_update_replaces_the_load_and_one_without_it_clears_it() -> None:
    registry = Registry()
    await registry.publish()
    for load in (None, 0.0, 0.75, None, -7.0, 42.0, math.inf, None):
        assert await registry.update(load=load)
        (instance,) = await registry.listed()
        assert instance.HasField("source_load") == (load is not None)
        assert instance.source_load == (load or 0.0)
    assert await registry.update(load=math.nan)
    (instance,) = await registry.listed()
    assert math.isnan(instance.source_load)


async def test_a_publication_clears_the_load() -> None:
    registry = Registry()
    await registry.publish()
    await registry.update(load=0.5)
    await registry.publish()
    assert not (await registry.listed())[0].HasField("source_load")


async def test_a_strict_service_refuses_a_load_out_of_range_and_keeps_the_last_one() -> None:
    registry = Registry(refuse_invalid_load=True)
    await registry.publish()
    for load in (0.0, 1.0, None, 0.5):
        assert await registry.update(load=load)
    for load in (math.nan, math.inf, -0.1, 1.5):
        assert not await registry.update(load=load)
    assert (await registry.listed())[0].source_load == 0.5


@pytest.mark.parametrize(("rank", "status"), [(1, 2), (0, 4), (0, -1)], ids=["rank", "status", "negative status"])
async def test_an_update_of_an_unknown_rank_or_with_an_unknown_status_is_refused(rank: int, status: int) -> None:
    registry = Registry()
    await registry.publish()
    assert not await registry.update(rank=rank, status=status)


async def test_an_update_of_an_unknown_worker_or_without_ids_is_refused() -> None:
    registry = Registry()
    await registry.publish()
    assert not await registry.update("other")
    assert not await registry.update("")
    for request in (UpdateStatusRequest(worker_id="w"), UpdateStatusRequest(mx_source_id="0" * 16, worker_id="w")):
        assert not (await registry.service.update_status(request)).success


async def test_the_clock_of_the_service_stamps_publications_and_updates() -> None:
    registry = Registry()
    await registry.publish()
    registry.clock.ms += 30_000
    await registry.update()
    assert (await registry.listed())[0].updated_at == START_MS + 30_000


async def test_an_update_from_a_replica_whose_clock_is_behind_is_a_success_without_effect() -> None:
    ahead = Registry()
    behind = Registry(ahead.backend)
    ahead.clock.ms += 1000
    await ahead.publish()
    await ahead.update(load=0.25)
    assert await behind.update(load=0.75)
    assert (await behind.listed())[0].source_load == 0.25


@pytest.mark.parametrize(
    ("age_ms", "shown"), [(0, True), (90_000, True), (90_001, False), (-90_000, True), (-90_001, False)]
)
async def test_a_listing_of_ready_sources_hides_old_heartbeats(age_ms: int, shown: bool) -> None:
    registry = Registry()
    await registry.publish()
    await registry.update()
    registry.clock.ms += age_ms
    assert await registry.ids(ListSourcesRequest(status_filter=READY)) == ["w"] * shown
    assert await registry.ids() == ["w"]


async def test_a_heartbeat_without_a_time_is_never_fresh() -> None:
    clock = Clock()
    clock.ms = 0
    registry = Registry(clock=clock)
    await registry.publish()
    await registry.update()
    assert await registry.ids(ListSourcesRequest(status_filter=READY)) == []


async def test_filters_narrow_a_listing() -> None:
    registry = Registry()
    await registry.publish("old", rank=0, extra={"training_step": "5"})
    registry.clock.ms += 1
    await registry.publish("new", rank=1, extra={"training_step": "x", "version": "9"})
    registry.clock.ms += 1
    await registry.publish("other", rank=1, model="n", extra={"version": "6"})

    async def ids(**fields: int | str) -> list[str]:
        request = ListSourcesRequest()
        for name, value in fields.items():
            setattr(request, name, value)
        return await registry.ids(request)

    assert await ids() == ["other", "new", "old"]
    assert await ids(model_name_filter="m") == ["new", "old"]
    assert await ids(model_name_filter="") == []
    assert await ids(worker_rank_filter=0) == ["old"]
    assert await ids(worker_rank_filter=1) == ["other", "new"]
    assert await ids(min_training_step=0) == ["other", "old"]
    assert await ids(min_training_step=6) == ["other"]
    assert await ids(min_updated_at=START_MS + 1) == ["other", "new"]
    assert await ids(limit=2) == ["other", "new"]
    assert await ids(limit=0) == ["other", "new", "old"]
    assert await ids(status_filter=1) == ["other", "new", "old"]
    assert await ids(status_filter=3) == []
    assert await ids(status_filter=17) == ["other", "new", "old"]


async def test_an_identity_limits_a_listing_to_its_source_unless_it_names_no_model() -> None:
    registry = Registry()
    await registry.publish("a", model="M")
    await registry.publish("b", model="n")
    assert await registry.ids(ListSourcesRequest(identity=SourceIdentity(model_name="m"))) == ["a"]
    assert await registry.ids(ListSourcesRequest(identity=SourceIdentity(model_name="absent"))) == []
    assert set(await registry.ids(ListSourcesRequest(identity=SourceIdentity(dtype="x")))) == {"a", "b"}


async def test_the_same_records_are_listed_in_the_same_order_by_every_replica() -> None:
    workers = [(f"w{n}", model) for n in range(20) for model in ("m", "n")]
    orders = []
    for seed in range(3):
        registry = Registry()
        shuffled = random.Random(seed).sample(workers, len(workers))
        for worker_id, model in shuffled:
            registry.clock.ms = START_MS + int(worker_id[1:]) // 10
            await registry.publish(worker_id, model=model)
        orders.append([(i.updated_at, i.mx_source_id, i.worker_id) for i in await registry.listed()])
    assert orders[0] == orders[1] == orders[2]
    assert orders[0] == sorted(orders[0], key=lambda entry: (-entry[0], *entry[1:]))


async def test_metadata_comes_back_as_published_with_the_latest_status_and_time() -> None:
    registry = Registry()
    # Field 90 is one that a later version may add.
    identity = SourceIdentity.FromString(SourceIdentity(model_name="m").SerializeToString() + b"\xd0\x05\x01")
    worker = WorkerMetadata(transfer_engine_session_id="", topology={"a": "b"}, status=READY, updated_at=3)
    published = await registry.service.publish_metadata(
        PublishMetadataRequest(identity=identity, worker=worker, worker_id="w")
    )
    registry.clock.ms += 7
    await registry.update(status=SourceStatus.UNKNOWN)
    found = await registry.service.get_metadata(GetMetadataRequest(mx_source_id=SOURCE, worker_id="w"))
    assert published.success
    assert found.found
    assert (found.mx_source_id, found.worker_id) == (SOURCE, "w")
    assert found.identity == identity
    assert found.worker.WhichOneof("backend_metadata") == "transfer_engine_session_id"
    assert found.worker == WorkerMetadata(transfer_engine_session_id="", topology={"a": "b"}, updated_at=START_MS + 7)


async def test_an_unknown_worker_is_not_found() -> None:
    registry = Registry()
    await registry.publish()
    for request in (
        GetMetadataRequest(),
        GetMetadataRequest(mx_source_id=SOURCE, worker_id="other"),
        GetMetadataRequest(mx_source_id="0" * 16, worker_id="w"),
    ):
        answer = await registry.service.get_metadata(request)
        assert not answer.found
        assert not answer.HasField("worker")


async def test_a_lost_store_is_answered_as_a_refusal_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    service = Registry(LostStore()).service
    identity, worker = SourceIdentity(model_name="m"), WorkerMetadata()
    with caplog.at_level(logging.WARNING):
        published = await service.publish_metadata(
            PublishMetadataRequest(identity=identity, worker=worker, worker_id="w")
        )
        updated = await service.update_status(UpdateStatusRequest(mx_source_id=SOURCE, worker_id="w"))
        listed = await service.list_sources(ListSourcesRequest())
        found = await service.get_metadata(GetMetadataRequest(mx_source_id=SOURCE, worker_id="w"))
    assert (published.success, published.mx_source_id, updated.success) == (False, "", False)
    assert "no connection" in published.message
    assert "no connection" in updated.message
    assert (len(listed.instances), found.found) == (0, False)
    assert len(caplog.records) == 4
    with pytest.raises(BackendError):
        await service.reap()


async def test_a_store_that_stays_lost_is_logged_twice_a_minute_not_for_every_request(
    caplog: pytest.LogCaptureFixture,
) -> None:
    registry = Registry(LostStore())
    for seconds in (0, 1, 29, 30, 31, 59, 60):
        registry.clock.ms = START_MS + seconds * 1000
        for _ in range(3):
            assert await registry.listed() == []
    assert [record.levelname for record in caplog.records] == ["WARNING"] * 3


async def test_the_reaper_marks_at_ninety_seconds_and_removes_at_an_hour() -> None:
    registry = Registry()
    await registry.publish()
    await registry.update(load=0.5)

    async def after(age_ms: int) -> tuple[int, int]:
        registry.clock.ms = START_MS + age_ms
        reaped = await registry.service.reap()
        return reaped.marked_stale, reaped.removed

    assert await after(90_000) == (0, 0)
    assert await after(90_001) == (1, 0)
    (stale,) = await registry.listed(ListSourcesRequest(status_filter=Wire.SOURCE_STATUS_STALE))
    assert (stale.updated_at, stale.source_load) == (START_MS, 0.5)
    assert await after(3_600_000) == (0, 0)
    assert await after(3_600_001) == (0, 1)
    assert await registry.listed() == []
    assert not await registry.update()


async def test_a_heartbeat_makes_a_stale_worker_ready_again() -> None:
    registry = Registry()
    await registry.publish()
    registry.clock.ms += 100_000
    assert (await registry.service.reap()).marked_stale == 1
    assert await registry.update()
    assert await registry.ids(ListSourcesRequest(status_filter=READY)) == ["w"]
    assert (await registry.service.reap()).marked_stale == 0


class LateHeartbeats(MemoryBackend):
    """A store into which a heartbeat comes between the reaper's look and its step."""

    def __init__(self, arrive: WorkerState) -> None:
        super().__init__()
        self._arrive = arrive

    async def summaries(self, source_id: str | None) -> list[WorkerSummary]:
        seen = list(await super().summaries(source_id))
        for summary in seen:
            await self.update_state(summary.key, self._arrive)
        return seen


@pytest.mark.parametrize("age_ms", [90_001, 3_600_001])
async def test_a_heartbeat_during_reaping_saves_its_worker(age_ms: int) -> None:
    heartbeat = WorkerState(status=SourceStatus.READY, updated_at_ms=START_MS + age_ms, source_load=None)
    registry = Registry(LateHeartbeats(heartbeat))
    await registry.publish()
    registry.clock.ms += age_ms
    reaped = await registry.service.reap()
    assert (reaped.marked_stale, reaped.removed) == (0, 0)
    assert await registry.ids(ListSourcesRequest(status_filter=READY)) == ["w"]


@pytest.mark.parametrize(
    ("extra", "step"),
    [
        ({}, None),
        ({"training_step": "12"}, 12),
        ({"version": "7"}, 7),
        ({"training_step": "x", "version": "7"}, None),
        ({"training_step": "+5"}, 5),
        ({"training_step": "-5"}, None),
        ({"training_step": " 5"}, None),
        ({"training_step": "\u0665"}, None),
        ({"training_step": str(2**64 - 1)}, 2**64 - 1),
        ({"training_step": str(2**64)}, None),
        ({"training_step": "9" * 10_000}, None),
    ],
)
async def test_a_training_step_is_read_as_an_unsigned_number_or_not_at_all(
    extra: dict[str, str], step: int | None
) -> None:
    registry = Registry()
    await registry.publish(extra=extra)
    (instance,) = await registry.listed()
    assert instance.HasField("training_step") == (step is not None)
    assert instance.training_step == (step or 0)


async def test_an_empty_layout_signature_is_none() -> None:
    registry = Registry()
    await registry.publish(extra={"layout_signature": ""})
    assert not (await registry.listed())[0].HasField("layout_signature")
