"""What every backend must do; a test module per backend inherits the suite and says how its store is opened.

    class TestMemoryBackend(BackendConformance):
        async def open(self) -> Backend: ...

Where a store can be shared, `open` gives a second connection to the same one, as a second replica would have it. A store that
forgets its records when its process ends says so in `outlives_its_process`.
"""

import asyncio
import math
from abc import ABC, abstractmethod
from dataclasses import replace

import pytest

from p2p_registry import (
    Backend,
    SourceStatus,
    UpdateOutcome,
    WorkerKey,
    WorkerRecord,
    WorkerState,
    WorkerSummary,
)
from p2p_registry.wire import SourceIdentity, TensorDescriptor, TensorSourceMetadata, WorkerMetadata

SOURCE = "0123456789abcdef"
OTHER_SOURCE = "fedcba9876543210"
NOW_MS = 1_800_000_000_000


def key(worker_id: str = "w", rank: int = 0, source_id: str = SOURCE) -> WorkerKey:
    return WorkerKey(source_id=source_id, worker_id=worker_id, worker_rank=rank)


def state(
    status: SourceStatus = SourceStatus.READY, updated_at_ms: int = NOW_MS, source_load: float | None = None
) -> WorkerState:
    return WorkerState(status=status, updated_at_ms=updated_at_ms, source_load=source_load)


def record(where: WorkerKey | None = None, latest: WorkerState | None = None, agent: str = "agent") -> WorkerRecord:
    """A record with a field of every kind in it."""
    where = where or key()
    worker = WorkerMetadata(
        worker_rank=where.worker_rank,
        nixl_metadata=b"\x00\xff nixl",
        metadata_endpoint="10.0.0.1:5555",
        agent_name=agent,
        worker_grpc_endpoint="10.0.0.1:6555",
        accelerator="cuda",
        topology={"rack": "r1", "host": "höst"},
        tensor_source=TensorSourceMetadata(
            tensors=[TensorDescriptor(name="t", addr=2**64 - 1, size=2**63, device_id=7, dtype="bfloat16")]
        ),
    )
    identity = SourceIdentity(
        model_name="модель/Ж", tensor_parallel_size=8, extra_parameters={"training_step": "12", "layout_signature": "l"}
    )
    return WorkerRecord(
        summary=WorkerSummary(
            key=where,
            state=latest or state(SourceStatus.INITIALIZING),
            model_name=identity.model_name,
            accelerator=worker.accelerator,
            topology=dict(worker.topology),
            training_step=12,
            layout_signature="l",
        ),
        identity=identity.SerializeToString(deterministic=True),
        metadata=worker.SerializeToString(deterministic=True),
    )


async def load_of(backend: Backend) -> float | None:
    (summary,) = await backend.summaries(SOURCE)
    found = await backend.get(SOURCE, "w")
    assert found is not None
    assert found.summary == summary
    return summary.state.source_load


class BackendConformance(ABC):
    """The suite; every test begins with an empty store."""

    outlives_its_process = True

    @abstractmethod
    async def open(self) -> Backend:
        """Connect to the test's store; called twice, it gives what two replicas have."""

    async def reopen(self) -> Backend:
        """Give what the next process finds, after every backend of the test was closed."""
        return await self.open()

    async def lose(self) -> Backend:
        """Lose everything that the store holds, and give what finds it so."""
        backend = await self.open()
        for summary in await backend.summaries(None):
            await backend.remove(summary.key.source_id, summary.key.worker_id, NOW_MS * 2)
        return backend

    async def test_a_record_comes_back_as_it_was_published(self) -> None:
        backend = await self.open()
        published = record()
        await backend.publish(published)

        found = await backend.get(SOURCE, "w")
        assert found is not None
        assert found.summary == published.summary
        assert SourceIdentity.FromString(found.identity) == SourceIdentity.FromString(published.identity)
        assert WorkerMetadata.FromString(found.metadata) == WorkerMetadata.FromString(published.metadata)
        assert list(await backend.summaries(SOURCE)) == [published.summary]

    async def test_what_was_never_published_is_absent(self) -> None:
        backend = await self.open()
        assert await backend.get(SOURCE, "w") is None
        assert list(await backend.summaries(SOURCE)) == []
        assert list(await backend.summaries(None)) == []

    async def test_an_empty_store_answers_a_ping(self) -> None:
        await (await self.open()).ping()

    async def test_a_listing_is_limited_to_one_source_or_shows_all(self) -> None:
        backend = await self.open()
        for where in (key("a"), key("b"), key("a", source_id=OTHER_SOURCE)):
            await backend.publish(record(where))

        async def keys(source_id: str | None) -> set[WorkerKey]:
            listed = await backend.summaries(source_id)
            found = {summary.key for summary in listed}
            assert len(found) == len(listed)
            return found

        assert await keys(SOURCE) == {key("a"), key("b")}
        assert await keys(OTHER_SOURCE) == {key("a", source_id=OTHER_SOURCE)}
        assert await keys(None) == {key("a"), key("b"), key("a", source_id=OTHER_SOURCE)}

    async def test_no_load_a_load_of_zero_and_a_load_are_three_things(self) -> None:
        backend = await self.open()
        await backend.publish(record())
        assert await load_of(backend) is None
        for load in (0.0, 0.73, None, 0.0, None):
            assert await backend.update_state(key(), state(source_load=load)) is UpdateOutcome.APPLIED
            found = await load_of(backend)
            assert found == load
            assert (found is None) == (load is None)

    async def test_minus_zero_stays_minus_zero(self) -> None:
        backend = await self.open()
        await backend.publish(record())
        await backend.update_state(key(), state(source_load=-0.0))
        load = await load_of(backend)
        assert load is not None
        assert math.copysign(1, load) == -1

    @pytest.mark.parametrize("load", [-7.0, 42.0, math.inf, -math.inf, 3.4028234663852886e38, 1e-45])
    async def test_a_load_out_of_range_is_kept(self, load: float) -> None:
        backend = await self.open()
        await backend.publish(record())
        await backend.update_state(key(), state(source_load=load))
        assert await load_of(backend) == load

    async def test_a_load_that_is_no_number_is_kept(self) -> None:
        backend = await self.open()
        await backend.publish(record())
        await backend.update_state(key(), state(source_load=math.nan))
        (summary,) = await backend.summaries(SOURCE)
        assert summary.state.source_load is not None
        assert math.isnan(summary.state.source_load)

    async def test_an_update_changes_the_state_and_nothing_else(self) -> None:
        backend = await self.open()
        published = record()
        await backend.publish(published)
        latest = state(SourceStatus.STALE, NOW_MS + 1, 0.5)
        await backend.update_state(key(), latest)

        found = await backend.get(SOURCE, "w")
        assert found is not None
        assert found.summary == replace(published.summary, state=latest)
        assert WorkerMetadata.FromString(found.metadata) == WorkerMetadata.FromString(published.metadata)

    @pytest.mark.parametrize(
        "where", [key("other"), key(rank=1), key(source_id=OTHER_SOURCE)], ids=["worker", "rank", "source"]
    )
    async def test_an_update_of_what_is_not_registered_says_so_and_stores_nothing(self, where: WorkerKey) -> None:
        backend = await self.open()
        await backend.publish(record())
        assert await backend.update_state(where, state()) is UpdateOutcome.NOT_REGISTERED
        assert [summary.key for summary in await backend.summaries(None)] == [key()]

    async def test_an_older_update_loses_and_one_of_the_same_time_wins(self) -> None:
        backend = await self.open()
        await backend.publish(record(latest=state(updated_at_ms=NOW_MS - 5)))
        newest = state(updated_at_ms=NOW_MS, source_load=0.2)
        assert await backend.update_state(key(), newest) is UpdateOutcome.APPLIED
        older = state(SourceStatus.STALE, NOW_MS - 1, 0.9)
        assert await backend.update_state(key(), older) is UpdateOutcome.OLDER
        (summary,) = await backend.summaries(SOURCE)
        assert summary.state == newest

        same_time = state(SourceStatus.STALE, NOW_MS, None)
        assert await backend.update_state(key(), same_time) is UpdateOutcome.APPLIED
        (summary,) = await backend.summaries(SOURCE)
        assert summary.state == same_time

    async def test_a_clock_that_was_ahead_and_is_set_back_does_not_keep_a_worker_as_it_was(self) -> None:
        backend = await self.open()
        await backend.publish(record())
        ahead = state(updated_at_ms=NOW_MS + 3_600_000, source_load=0.2)
        assert await backend.update_state(key(), ahead) is UpdateOutcome.APPLIED
        almost = state(updated_at_ms=ahead.updated_at_ms - 90_000)
        assert await backend.update_state(key(), almost) is UpdateOutcome.OLDER
        goodbye = state(SourceStatus.STALE, ahead.updated_at_ms - 90_001)
        assert await backend.update_state(key(), goodbye) is UpdateOutcome.APPLIED
        assert [summary.state for summary in await backend.summaries(SOURCE)] == [goodbye]

    async def test_an_update_older_than_the_publication_loses(self) -> None:
        backend = await self.open()
        published = record()
        await backend.publish(published)
        assert await backend.update_state(key(), state(updated_at_ms=NOW_MS - 1)) is UpdateOutcome.OLDER
        assert list(await backend.summaries(SOURCE)) == [published.summary]

    async def test_a_publication_replaces_the_record_and_its_state(self) -> None:
        backend = await self.open()
        await backend.publish(record())
        await backend.update_state(key(), state(updated_at_ms=NOW_MS + 10, source_load=0.5))
        again = record(agent="second", latest=state(SourceStatus.INITIALIZING, NOW_MS + 9))
        await backend.publish(again)

        found = await backend.get(SOURCE, "w")
        assert found is not None
        assert found.summary == again.summary
        assert WorkerMetadata.FromString(found.metadata).agent_name == "second"

    async def test_a_worker_is_listed_once_with_its_last_published_rank(self) -> None:
        backend = await self.open()
        for rank in (0, 3, 1):
            await backend.publish(record(key(rank=rank)))
        await backend.update_state(key(rank=3), state(source_load=0.3))
        await backend.update_state(key(rank=1), state(source_load=0.1))

        (summary,) = await backend.summaries(SOURCE)
        assert (summary.key.worker_rank, summary.state.source_load) == (1, 0.1)
        found = await backend.get(SOURCE, "w")
        assert found is not None
        assert found.summary == summary

    async def test_a_record_of_a_megabyte_comes_back_whole(self) -> None:
        backend = await self.open()
        published = record()
        metadata = WorkerMetadata.FromString(published.metadata)
        metadata.nixl_metadata = bytes(range(256)) * 4096
        await backend.publish(replace(published, metadata=metadata.SerializeToString()))
        await backend.update_state(key(), state())

        found = await backend.get(SOURCE, "w")
        assert found is not None
        assert WorkerMetadata.FromString(found.metadata) == metadata

    async def test_two_replicas_work_on_one_record(self) -> None:
        one, other = await self.open(), await self.open()
        await one.publish(record())
        assert await other.update_state(key(), state(source_load=0.4)) is UpdateOutcome.APPLIED
        assert await load_of(one) == 0.4
        assert await one.update_state(key(), state(updated_at_ms=NOW_MS + 1)) is UpdateOutcome.APPLIED
        assert await other.update_state(key(), state(source_load=0.9)) is UpdateOutcome.OLDER
        assert await load_of(other) is None
        assert await other.remove(SOURCE, "w", NOW_MS + 1)
        assert await one.get(SOURCE, "w") is None

    async def test_of_many_updates_at_once_the_latest_stays(self) -> None:
        replicas = [await self.open(), await self.open()]
        await replicas[0].publish(record())
        updates = [state(updated_at_ms=NOW_MS + (n * 7) % 20, source_load=(n * 7) % 20 / 20) for n in range(20)]
        await asyncio.gather(*(replicas[n % 2].update_state(key(), update) for n, update in enumerate(updates)))
        assert await load_of(replicas[0]) == 19 / 20

    @pytest.mark.parametrize("status", [SourceStatus.READY, SourceStatus.INITIALIZING])
    async def test_a_silent_worker_is_marked_stale_once(self, status: SourceStatus) -> None:
        backend = await self.open()
        await backend.publish(record())
        await backend.update_state(key(), state(status, source_load=0.6))
        assert await backend.mark_stale(SOURCE, "w", NOW_MS)
        (summary,) = await backend.summaries(SOURCE)
        assert summary.state == state(SourceStatus.STALE, NOW_MS, 0.6)
        assert not await backend.mark_stale(SOURCE, "w", NOW_MS)

    @pytest.mark.parametrize(
        "load", [None, 0.0, 0.73, 0.7300000190734863, 1.0, 42.0, 3.4028234663852886e38, 1e-45, -math.inf]
    )
    async def test_marking_keeps_the_load(self, load: float | None) -> None:
        backend = await self.open()
        await backend.publish(record())
        await backend.update_state(key(), state(source_load=load))
        assert await backend.mark_stale(SOURCE, "w", NOW_MS)
        found = await load_of(backend)
        assert found == load
        assert (found is None) == (load is None)

    @pytest.mark.parametrize("load", [math.nan, -0.0])
    async def test_marking_keeps_a_load_that_equals_nothing_or_zero(self, load: float) -> None:
        backend = await self.open()
        await backend.publish(record())
        await backend.update_state(key(), state(source_load=load))
        assert await backend.mark_stale(SOURCE, "w", NOW_MS)
        (summary,) = await backend.summaries(SOURCE)
        assert str(summary.state.source_load) == str(load)

    async def test_workers_published_at_once_are_all_listed(self) -> None:
        replicas = [await self.open(), await self.open()]
        names = [f"w{n}" for n in range(20)]
        await asyncio.gather(*(replicas[n % 2].publish(record(key(name))) for n, name in enumerate(names)))
        for replica in replicas:
            assert sorted(summary.key.worker_id for summary in await replica.summaries(SOURCE)) == sorted(names)

    async def test_a_heartbeat_beside_a_removal_saves_the_worker_or_is_told_that_it_is_gone(self) -> None:
        reaper, replica = await self.open(), await self.open()
        for round_ in range(10):
            await reaper.publish(record(latest=state()))
            late = state(updated_at_ms=NOW_MS + 1 + round_)
            outcome, removed = await asyncio.gather(
                replica.update_state(key(), late), reaper.remove(SOURCE, "w", NOW_MS)
            )
            assert (outcome, removed) in {(UpdateOutcome.APPLIED, False), (UpdateOutcome.NOT_REGISTERED, True)}
            assert [summary.state for summary in await reaper.summaries(None)] == ([] if removed else [late])

    async def test_the_next_process_finds_the_records_or_an_empty_store(self) -> None:
        backend = await self.open()
        latest = state(updated_at_ms=NOW_MS + 1, source_load=0.73)
        for where in (key(rank=0), key(rank=1), key(rank=0), key("other"), key(source_id=OTHER_SOURCE)):
            await backend.publish(record(where))
        await backend.update_state(key(), latest)
        before = {summary.key: summary for summary in await backend.summaries(None)}
        await backend.aclose()

        backend = await self.reopen()
        after = {summary.key: summary for summary in await backend.summaries(None)}
        if not self.outlives_its_process:
            assert after == {}
            assert await backend.update_state(key(), latest) is UpdateOutcome.NOT_REGISTERED
            return
        assert after == before
        found = await backend.get(SOURCE, "w")
        assert found is not None
        assert found.summary == replace(record().summary, state=latest)
        assert WorkerMetadata.FromString(found.metadata) == WorkerMetadata.FromString(record().metadata)
        assert await backend.update_state(key(), state()) is UpdateOutcome.OLDER
        assert await backend.update_state(key(rank=1), latest) is UpdateOutcome.APPLIED

    async def test_after_its_loss_a_store_knows_nobody_until_sources_publish_again(self) -> None:
        await (await self.open()).publish(record())
        backend = await self.lose()
        for _ in range(2):
            assert await backend.update_state(key(), state()) is UpdateOutcome.NOT_REGISTERED
        assert await backend.get(SOURCE, "w") is None
        await backend.publish(record())
        assert await backend.update_state(key(), state()) is UpdateOutcome.APPLIED
        assert [summary.state for summary in await backend.summaries(None)] == [state()]

    async def test_closing_twice_is_closing_once(self) -> None:
        backend = await self.open()
        await backend.aclose()
        await backend.aclose()

    async def test_a_worker_updated_meanwhile_is_neither_marked_nor_removed(self) -> None:
        backend = await self.open()
        published = record(latest=state())
        await backend.publish(published)
        assert not await backend.mark_stale(SOURCE, "w", NOW_MS - 1)
        assert not await backend.remove(SOURCE, "w", NOW_MS - 1)
        assert list(await backend.summaries(SOURCE)) == [published.summary]

    async def test_a_worker_of_unknown_state_is_not_marked(self) -> None:
        backend = await self.open()
        await backend.publish(record(latest=state(SourceStatus.UNKNOWN)))
        assert not await backend.mark_stale(SOURCE, "w", NOW_MS)

    async def test_one_live_rank_keeps_its_worker_but_not_its_silent_ranks_from_being_marked(self) -> None:
        backend = await self.open()
        await backend.publish(record(key(rank=1), state(updated_at_ms=NOW_MS + 1)))
        await backend.publish(record(key(rank=0), state(updated_at_ms=NOW_MS)))
        assert not await backend.remove(SOURCE, "w", NOW_MS)
        assert await backend.mark_stale(SOURCE, "w", NOW_MS)
        (summary,) = await backend.summaries(SOURCE)
        assert (summary.key.worker_rank, summary.state.status) == (0, SourceStatus.STALE)
        assert not await backend.mark_stale(SOURCE, "w", NOW_MS)

    async def test_a_removed_worker_is_gone_with_every_rank_and_the_others_stay(self) -> None:
        backend = await self.open()
        for where in (key(), key(rank=1), key("other")):
            await backend.publish(record(where))
        assert await backend.remove(SOURCE, "w", NOW_MS)
        assert not await backend.remove(SOURCE, "w", NOW_MS)
        assert await backend.get(SOURCE, "w") is None
        assert await backend.update_state(key(), state()) is UpdateOutcome.NOT_REGISTERED
        assert await backend.update_state(key(rank=1), state()) is UpdateOutcome.NOT_REGISTERED
        assert [summary.key for summary in await backend.summaries(None)] == [key("other")]

    async def test_marking_or_removing_what_is_absent_changes_nothing(self) -> None:
        backend = await self.open()
        assert not await backend.mark_stale(SOURCE, "w", NOW_MS)
        assert not await backend.remove(SOURCE, "w", NOW_MS)
        assert list(await backend.summaries(None)) == []

    async def test_a_removed_worker_can_be_published_again(self) -> None:
        backend = await self.open()
        await backend.publish(record())
        await backend.remove(SOURCE, "w", NOW_MS)
        await backend.publish(record(key(rank=2)))
        (summary,) = await backend.summaries(None)
        assert summary.key.worker_rank == 2

    @pytest.mark.parametrize(
        "worker_id", ["a:b", "*", "w[0]", "ж", " ", "0", "status:0", "__attributes", '"\\', "a\nb"]
    )
    async def test_any_text_is_a_worker_id(self, worker_id: str) -> None:
        backend = await self.open()
        await backend.publish(record(key(worker_id)))
        await backend.publish(record(key("plain")))
        assert await backend.update_state(key(worker_id), state(source_load=0.5)) is UpdateOutcome.APPLIED
        loads = {summary.key.worker_id: summary.state.source_load for summary in await backend.summaries(SOURCE)}
        assert loads == {worker_id: 0.5, "plain": None}
        assert await backend.remove(SOURCE, worker_id, NOW_MS)
        assert [summary.key.worker_id for summary in await backend.summaries(SOURCE)] == ["plain"]
