"""The store in Redis keeps the rules that every store keeps, on a real server."""

from collections.abc import AsyncIterator, Iterator

import pytest
from backend_conformance import BackendConformance
from redis.asyncio import Redis
from redis_server import RedisServer

from p2p_registry import Backend, open_backend


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with RedisServer() as running:
        yield running


@pytest.fixture
async def store(server: RedisServer) -> AsyncIterator[Redis]:
    """What stands in the server, empty at first."""
    async with Redis(unix_socket_path=server.socket) as client:
        await client.flushall()
        yield client


class TestRedisBackend(BackendConformance):
    """Each replica has connections of its own."""

    @pytest.fixture(autouse=True)
    async def _store(self, server: RedisServer, store: Redis) -> AsyncIterator[None]:
        del store
        self._url = f"unix://{server.socket}"
        self._opened: list[Backend] = []
        yield
        for backend in self._opened:
            await backend.aclose()

    async def open(self) -> Backend:
        backend = await open_backend(self._url)
        self._opened.append(backend)
        return backend
