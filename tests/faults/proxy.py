"""A TCP proxy between a router and a worker that fails on demand: a middlebox, a bad cable, a load balancer."""

import asyncio
import contextlib
import socket
import struct
from types import TracebackType
from typing import Self

from http2_frames import Frame, Kind, Splitter

_CHUNK_BYTES = 4_096
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)


class Connection:
    """One router's connection, and the one to the worker that belongs to it."""

    def __init__(
        self,
        router: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        worker: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    ) -> None:
        self.from_router, self.to_router = router
        self.from_worker, self.to_worker = worker
        self.stream_id = 0
        """The last stream that the worker has answered."""
        self.half_open = False
        """One side was lost, and the other isn't to know."""

    def reset(self) -> None:
        """Answer both sides with RST and forget what was on its way."""
        for writer in (self.to_router, self.to_worker):
            _reset(writer)


class Proxy:
    """Forwards, until told otherwise; what it is told holds for present and later connections.

    Attributes:
        address: Where routers dial.
        target: Where the worker listens; a change holds for later connections.
        connections: The present connections, in the order of their coming.
        swallows: Reads what comes, from either side, and forwards nothing: packets vanish, TCP looks fine.
        cuts_data: Breaks the next report in the middle of its frame, by RST to both sides.
        bytes_per_second: How fast the router reads, or None for as fast as it likes.
    """

    def __init__(self, target: str) -> None:
        self.target = target
        self.address = ""
        self.connections: list[Connection] = []
        self.swallows = False
        self.cuts_data = False
        self.bytes_per_second: int | None = None
        self._forwarding = asyncio.Event()
        self._forwarding.set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=_CHUNK_BYTES, backlog=1_024)
        self.address = f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        self.bytes_per_second = None
        self.thaw()
        while self._tasks:
            self.reset_all()
            await asyncio.wait(self._tasks, timeout=0.1)

    def freeze(self) -> None:
        """Read nothing any more, from nobody: TCP holds both sides back."""
        self._forwarding.clear()

    def thaw(self) -> None:
        """Go on after `freeze`."""
        self._forwarding.set()

    def inject(self, frame: bytes) -> None:
        """Send the router a frame of our own on every connection, between two of the worker's."""
        for connection in self.connections:
            connection.to_router.write(frame)

    def reset_all(self) -> None:
        """End every connection by RST on both sides."""
        for connection in list(self.connections):
            connection.reset()

    def lose_workers_side(self) -> None:
        """End the connections to the worker and say nothing to the router: half-open, seen from there."""
        for connection in self.connections:
            connection.half_open = True
            _reset(connection.to_worker)

    def lose_routers_side(self) -> None:
        """End the connections to the router and say nothing to the worker: half-open, seen from there."""
        for connection in self.connections:
            connection.half_open = True
            _reset(connection.to_router)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        await self._forwarding.wait()
        host, _, port = self.target.rpartition(":")
        try:
            with socket.socket() as sock:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _CHUNK_BYTES)
                sock.setblocking(False)
                await asyncio.get_running_loop().sock_connect(sock, (host, int(port)))
                worker = await asyncio.open_connection(sock=sock.dup(), limit=_CHUNK_BYTES)
        except OSError:
            _reset(writer)
            return
        connection = Connection((reader, writer), worker)
        self.connections.append(connection)
        try:
            async with asyncio.TaskGroup() as pumps:
                pumps.create_task(self._to_worker(connection))
                pumps.create_task(self._to_router(connection))
        finally:
            self.connections.remove(connection)
            connection.reset()

    async def _to_worker(self, connection: Connection) -> None:
        await self._pump(connection.from_router, connection.to_worker, connection)

    async def _to_router(self, connection: Connection) -> None:
        await self._pump(connection.from_worker, connection.to_router, connection)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connection: Connection) -> None:
        splitter = Splitter()
        towards_router = writer is connection.to_router
        with contextlib.suppress(OSError):
            while data := await self._read(reader):
                for frame in splitter.feed(data):
                    if towards_router and frame.kind == Kind.HEADERS:
                        connection.stream_id = frame.stream_id
                    if self.swallows or writer.transport.is_closing():
                        continue
                    if towards_router and self.cuts_data and frame.kind == Kind.DATA:
                        self.cuts_data = False
                        writer.write(frame.raw[: len(frame.raw) // 2])
                        await writer.drain()
                        connection.reset()
                        return
                    await self._write(writer, frame, slow=towards_router)
        if not (connection.half_open or self.swallows):
            writer.close()

    async def _read(self, reader: asyncio.StreamReader) -> bytes:
        await self._forwarding.wait()
        data = await reader.read(_CHUNK_BYTES)
        await self._forwarding.wait()
        return data

    async def _write(self, writer: asyncio.StreamWriter, frame: Frame, *, slow: bool) -> None:
        raw = frame.raw
        while slow and self.bytes_per_second is not None and raw:
            step = max(1, self.bytes_per_second // 10)
            writer.write(raw[:step])
            raw = raw[step:]
            await asyncio.sleep(0.1)
        writer.write(raw)
        await writer.drain()


def _reset(writer: asyncio.StreamWriter) -> None:
    transport = writer.transport
    if not transport.is_closing():
        sock = transport.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
    transport.abort()
