"""A real HTTP server on 127.0.0.1 that answers byte for byte as it is told, and the answers of SGLang's releases."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

import pytest

from loadmonitor_worker.errors import SourceUnavailableError
from loadmonitor_worker.interfaces import LoadSnapshotSource

Writer: TypeAlias = asyncio.StreamWriter
Answer: TypeAlias = bytes | Callable[[Writer], Coroutine[None, None, None]]

CORE: dict[str, object] = {
    "num_running_reqs": 11,
    "num_waiting_reqs": 22,
    "num_waiting_uncached_tokens": 33,
    "num_used_tokens": 44,
    "num_total_tokens": 55,
    "max_total_num_tokens": 66,
    "max_running_requests": 77,
    "token_usage": 0.9,
    "gen_throughput": 88.5,
    "cache_hit_rate": 0.5,
    "utilization": -1.0,
}
"""What every shape of 2026-08 and later tells of a rank; token_usage is that of the fullest pool, above used / max."""


def current(dp_rank: int, timestamp: object = 1_700_000_000.123456, **changed: object) -> dict[str, object]:
    """A rank as SGLang 0.5.23 tells it."""
    later: dict[str, object] = {
        "num_active_tokens": 54,
        "num_prealloc_ready_tokens": 0,
        "total_prefill_uncached_tokens": 99,
        "total_prefill_busy_us": 111,
        "decode_moments": None,
    }
    return {"timestamp": timestamp, "dp_rank": dp_rank, **CORE, **later, **changed}


def undated(dp_rank: int, **changed: object) -> dict[str, object]:
    """A rank as the releases before it told it."""
    return {"dp_rank": dp_rank, **CORE, **changed}


def body(*ranks: object, **top: object) -> bytes:
    """The JSON of 0.5.23 around the ranks."""
    around = {
        "timestamp": "2026-11-02T10:30:00.123456+00:00",
        "version": "0.5.23",
        "accelerator": "NVIDIA GB300",
        "num_accelerators": 8,
    }
    return json.dumps(around | {"loads": ranks} | top).encode()


def ok(content: bytes, *headers: str) -> bytes:
    return response("200 OK", content, *(headers or ("Content-Type: application/json",)))


def response(status: str, content: bytes = b"", *headers: str) -> bytes:
    """A whole HTTP answer."""
    lines = [f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(content)}", "", ""]
    return "\r\n".join(lines).encode() + content


async def failure(source: LoadSnapshotSource) -> SourceUnavailableError:
    """Why a pull gives nothing."""
    with pytest.raises(SourceUnavailableError) as caught:
        await source.get_loads()
    return caught.value


@dataclass
class HttpEngine:
    """A server whose every answer is set before it is asked.

    Attributes:
        url: Its address.
        answers: By path without the query; anything else is answered 404.
        targets: The request targets so far.
        headers: The headers of each request so far, names in lower case.
        connections: How many were made so far.
        connected: How many of them are open.
        greeting: Sent as soon as one is made.
    """

    url: str = ""
    answers: dict[str, Answer] = field(default_factory=dict)
    targets: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    connections: int = 0
    connected: int = 0
    greeting: bytes = b""

    def tells(self, answer: Answer) -> None:
        """Answer `/v1/loads` so from now on."""
        self.answers["/v1/loads"] = answer

    async def deserted(self) -> None:
        """Wait until no connection is open."""
        async with asyncio.timeout(5):
            while self.connected:  # noqa: ASYNC110 - connections end in many places
                await asyncio.sleep(0.001)

    async def run(self, answering: Coroutine[None, None, None], reader: asyncio.StreamReader) -> None:
        """Answer until done, or until the asker has gone, who never sends anything meanwhile."""
        tasks = {asyncio.ensure_future(answering), asyncio.ensure_future(reader.read(1))}
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def serve(self, reader: asyncio.StreamReader, writer: Writer) -> None:
        self.connections += 1
        self.connected += 1
        writer.write(self.greeting)
        try:
            while (request := (await reader.readuntil(b"\r\n\r\n")).decode()).strip():
                first, *lines = request.strip().split("\r\n")
                target = first.split(" ")[1]
                self.targets.append(target)
                self.headers.append(
                    {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
                )
                answer = self.answers.get(target.partition("?")[0], response("404 Not Found"))
                if isinstance(answer, bytes):
                    writer.write(answer)
                    await writer.drain()
                else:
                    await self.run(answer(writer), reader)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()
            self.connected -= 1


@asynccontextmanager
async def http_engine(answer: Answer | None = None) -> AsyncIterator[HttpEngine]:
    """Run a server until the block ends; its connections end with it."""
    engine = HttpEngine()
    if answer is not None:
        engine.tells(answer)
    handlers: set[asyncio.Task[None]] = set()
    writers: list[Writer] = []

    def accept(reader: asyncio.StreamReader, writer: Writer) -> None:
        task = asyncio.get_running_loop().create_task(engine.serve(reader, writer))
        handlers.add(task)
        task.add_done_callback(handlers.discard)
        writers.append(writer)

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    engine.url = f"http://{host}:{port}"
    try:
        yield engine
    finally:
        # One that is being accepted has no task yet, and would be lost if the server closed first.
        asyncio.get_running_loop().remove_reader(server.sockets[0].fileno())
        for _ in range(10):
            await asyncio.sleep(0)
        server.close()
        for task in handlers:
            task.cancel()
        await asyncio.gather(*handlers, return_exceptions=True)
        for writer in writers:
            # What was written to somebody who left would keep it open.
            writer.transport.abort()
        await server.wait_closed()
