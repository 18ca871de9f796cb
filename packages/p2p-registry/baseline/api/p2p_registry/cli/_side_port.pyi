import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus
from p2p_registry.serving import check_bindable as check_bindable, split_address as split_address
from typing import Final

SIDE_PORT: Final[int]
CONNECTION_SECONDS: Final[float]
MOST_CONNECTIONS: Final[int]
Page = Callable[[], tuple[HTTPStatus, bytes]]

@asynccontextmanager
async def side_port(listen: str, pages: Mapping[str, Page]) -> AsyncIterator[str]: ...

class _Connection(asyncio.Protocol):
    def __init__(self, pages: Mapping[str, Page], connections: set[_Connection]) -> None: ...
    def connection_made(self, transport: asyncio.BaseTransport) -> None: ...
    def data_received(self, data: bytes) -> None: ...
    def connection_lost(self, exc: Exception | None) -> None: ...
    def cut(self) -> None: ...
