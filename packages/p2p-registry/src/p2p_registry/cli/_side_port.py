"""The second listener of `serve`: HTTP for scrapers and probes, on the event loop that serves.

That /livez is answered on that loop is its point: where the loop hangs, the probe does.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Final

from p2p_registry.errors import SettingError
from p2p_registry.serving import check_bindable

SIDE_PORT: Final = 9401
"""Where modelexpress' server has its metrics, too."""
CONNECTION_SECONDS: Final = 10.0
"""Longest that a connection may last; one has one request."""
MOST_CONNECTIONS: Final = 64
_HEAD_BYTES = 8_192

Page = Callable[[], tuple[HTTPStatus, bytes]]


@asynccontextmanager
async def side_port(host: str, port: int, pages: Mapping[str, Page]) -> AsyncIterator[str]:
    """Serve the pages, by path, while the block lasts, and yield the address.

    Raises:
        BindError: The address can't be listened on.
        SettingError: It is none.
    """
    if not 0 <= port <= 65_535:
        raise SettingError("http_port", port, "is not a TCP port: 0 (any free one) to 65535 is")
    bare = host.strip("[]")
    shown = f"[{bare}]" if ":" in bare else bare
    await check_bindable("http_host", f"{shown}:{port}")
    connections: set[_Connection] = set()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Connection(pages, connections), bare, port)
    try:
        yield f"{shown}:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for connection in list(connections):
            connection.cut()


class _Connection(asyncio.Protocol):
    """One request and its answer."""

    def __init__(self, pages: Mapping[str, Page], connections: "set[_Connection]") -> None:
        self._pages = pages
        self._connections = connections
        self._head = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._connections.add(self)
        self._deadline = asyncio.get_running_loop().call_later(CONNECTION_SECONDS, self.cut)
        if len(self._connections) > MOST_CONNECTIONS:
            self.cut()

    def data_received(self, data: bytes) -> None:
        if self._transport.is_closing():
            return
        self._head += data
        if b"\r\n\r\n" in self._head:
            self._answer(self._head.split(b"\r\n", 1)[0].decode("latin-1"))
            self._transport.close()
        elif len(self._head) > _HEAD_BYTES:
            self.cut()

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self._deadline.cancel()
        self._connections.discard(self)

    def cut(self) -> None:
        """Hang up, whatever isn't said yet."""
        self._transport.abort()

    def _answer(self, request_line: str) -> None:
        method, _, rest = request_line.partition(" ")
        page = self._pages.get(rest.partition(" ")[0].partition("?")[0])
        if method not in {"GET", "HEAD"}:
            status, body = HTTPStatus.METHOD_NOT_ALLOWED, b"GET it\n"
        elif page is None:
            status, body = HTTPStatus.NOT_FOUND, f"there are {', '.join(self._pages)}\n".encode()
        else:
            status, body = page()
        head = (
            f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        self._transport.write(head.encode() + (b"" if method == "HEAD" else body))
