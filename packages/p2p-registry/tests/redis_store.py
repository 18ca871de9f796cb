"""Fixtures of the tests on Redis: one server for a module, empty for each test."""

from collections.abc import AsyncIterator, Iterator

import pytest
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
    async with Redis(unix_socket_path=server.socket, decode_responses=True) as client:
        await client.flushall()
        yield client


@pytest.fixture
async def backend(server: RedisServer, store: Redis) -> AsyncIterator[Backend]:
    """A replica's connection to that server."""
    del store
    opened = await open_backend(f"unix://{server.socket}")
    yield opened
    await opened.aclose()
