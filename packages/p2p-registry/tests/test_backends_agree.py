"""Whatever is asked of them, and in whatever order, the stores answer alike."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest
from backend_conformance import NOW_MS, OTHER_SOURCE, SOURCE, key, record
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from redis.asyncio import Redis
from redis_server import RedisServer
from redis_store import server

from p2p_registry import (
    Backend,
    MemoryBackend,
    SnapshotBackend,
    SourceStatus,
    WorkerKey,
    WorkerState,
    WorkerSummary,
    open_backend,
)

__all__ = ["server"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("snapshot")


KEYS = st.builds(
    key,
    worker_id=st.sampled_from(["w", "ж:0"]),
    rank=st.integers(0, 1),
    source_id=st.sampled_from([SOURCE, OTHER_SOURCE]),
)
TIMES = st.integers(NOW_MS, NOW_MS + 3)
STATES = st.builds(
    WorkerState,
    status=st.sampled_from(SourceStatus),
    updated_at_ms=TIMES,
    source_load=st.none() | st.floats(width=32),
)
Step = Callable[[Backend], Awaitable[object]]


def publish(where: WorkerKey, state: WorkerState) -> Step:
    return lambda backend: backend.publish(record(where, state))


def update(where: WorkerKey, state: WorkerState) -> Step:
    return lambda backend: backend.update_state(where, state)


def mark(where: WorkerKey, not_after_ms: int) -> Step:
    return lambda backend: backend.mark_stale(where.source_id, where.worker_id, not_after_ms)


def remove(where: WorkerKey, not_after_ms: int) -> Step:
    return lambda backend: backend.remove(where.source_id, where.worker_id, not_after_ms)


STEPS = st.lists(
    st.builds(publish, KEYS, STATES)
    | st.builds(update, KEYS, STATES)
    | st.builds(mark, KEYS, TIMES)
    | st.builds(remove, KEYS, TIMES),
    min_size=1,
    max_size=12,
)
# Each example starts a loop and talks to a server or a disk, so the search for the shortest failure would take minutes.
UNSHRUNK = (Phase.generate,)


async def seen(backend: Backend) -> dict[WorkerKey, tuple[str, WorkerSummary]]:
    """Return all that a replica shows, loads as text: NaN equals nothing, and -0.0 equals 0.0."""
    shown = {summary.key: _comparable(summary) for summary in await backend.summaries(None)}
    for where, comparable in shown.items():
        found = await backend.get(where.source_id, where.worker_id)
        assert found is not None
        assert _comparable(found.summary) == comparable
        assert comparable in map(_comparable, await backend.summaries(where.source_id))
    return shown


def _comparable(summary: WorkerSummary) -> tuple[str, WorkerSummary]:
    return str(summary.state.source_load), replace(summary, state=replace(summary.state, source_load=None))


@given(steps=STEPS)
@settings(max_examples=40, phases=UNSHRUNK)
def test_redis_answers_as_memory_does(server: RedisServer, steps: list[Step]) -> None:
    async def compare() -> None:
        memory, redis = MemoryBackend(), await open_backend(f"unix://{server.socket}")
        async with Redis(unix_socket_path=server.socket) as store:
            await store.flushall()
        try:
            for step in steps:
                assert await step(redis) == await step(memory)
                assert await seen(redis) == await seen(memory)
        finally:
            await redis.aclose()

    asyncio.run(compare())


@given(steps=STEPS)
@settings(max_examples=20, phases=UNSHRUNK)
def test_a_snapshot_is_the_memory_that_it_was_made_of(folder: Path, steps: list[Step]) -> None:
    async def compare() -> None:
        path = folder / "registry"
        path.unlink(missing_ok=True)
        memory, file = MemoryBackend(), await SnapshotBackend.open(path)
        for number, step in enumerate(steps):
            assert await step(file) == await step(memory)
            if number % 5 == 4 or number == len(steps) - 1:
                await file.aclose()
                file = await SnapshotBackend.open(path)
            assert await seen(file) == await seen(memory)
        await file.aclose()

    asyncio.run(compare())
