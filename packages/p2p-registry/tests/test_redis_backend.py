"""The store in Redis keeps the rules that every store keeps, on a real server."""

from collections.abc import AsyncIterator

import pytest
from backend_conformance import BackendConformance
from redis.asyncio import Redis
from redis_server import RedisServer
from redis_store import server, store

from p2p_registry import Backend, open_backend

__all__ = ["server", "store"]


class TestRedisBackend(BackendConformance):
    """Each replica has connections of its own."""

    @pytest.fixture(autouse=True)
    async def _store(self, server: RedisServer, store: Redis) -> AsyncIterator[None]:
        self._url = f"unix://{server.socket}"
        self._redis = store
        self._opened: list[Backend] = []
        yield
        for backend in self._opened:
            await backend.aclose()

    async def open(self) -> Backend:
        backend = await open_backend(self._url)
        self._opened.append(backend)
        return backend

    async def lose(self) -> Backend:
        await self._redis.flushall()
        return await self.open()
