"""A URL opens the store that it names, or says why not."""

import subprocess
import sys
from pathlib import Path

import pytest
from backend_conformance import record

from p2p_registry import InvalidBackendUrlError, MemoryBackend, SnapshotBackend, open_backend
from p2p_registry.redis_backend import RedisBackend


async def test_memory_is_the_embedded_store() -> None:
    assert type(await open_backend("memory")) is MemoryBackend


@pytest.mark.parametrize("form", ["memory://{}", "memory:{}"])
async def test_memory_with_a_path_is_saved_there(tmp_path: Path, form: str) -> None:
    path = tmp_path / "a file"
    backend = await open_backend(form.format(str(path).replace(" ", "%20")))
    assert type(backend) is SnapshotBackend
    await backend.publish(record())
    await backend.aclose()
    again = await SnapshotBackend.open(path)
    assert again.records() == [record()]
    await again.aclose()


@pytest.mark.parametrize(
    "url", ["memory:", "memory://", "memory://host/file", "memory:///file?interval=1", "memory:///file#1"]
)
async def test_another_url_of_a_memory_is_refused(url: str) -> None:
    with pytest.raises(InvalidBackendUrlError, match="a store in memory is given as memory or memory:///PATH"):
        await open_backend(url)


@pytest.mark.parametrize("url", ["redis://localhost", "rediss://localhost:1/2", "unix:///run/redis.sock"])
async def test_redis_is_opened_without_being_dialled(url: str) -> None:
    backend = await open_backend(url)
    assert type(backend) is RedisBackend
    await backend.aclose()


@pytest.mark.parametrize(
    ("url", "named"),
    [("memroy", "'memroy'"), ("redsi://:s3cret@host", "'redsi'"), ("http:s3cret", "'http'"), ("", "''")],
)
async def test_an_unknown_kind_of_store_is_refused_with_the_known_ones(url: str, named: str) -> None:
    with pytest.raises(
        InvalidBackendUrlError, match=f"^{named} is no kind of store; memory, redis, rediss, unix"
    ) as caught:
        await open_backend(url)
    assert "s3cret" not in str(caught.value)


def test_the_package_works_without_redis_and_names_the_extra_where_it_is_asked_for() -> None:
    program = """
import asyncio, sys
sys.modules["redis"] = None
from p2p_registry import MissingExtraError, open_backend
asyncio.run(open_backend("memory"))
try:
    asyncio.run(open_backend("redis://:s3cret@localhost"))
except MissingExtraError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "a store in Redis needs an optional dependency: pip install 'p2p-registry[redis]'\n"
