"""The sidecar's second listener: HTTP for scrapers, probes and preStop hooks, on the reporter's own event loop.

That /livez is answered on the loop that reports is its point: where the loop hangs, the probe does.
"""

import asyncio
import json
import logging
import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from ipaddress import IPv6Address, ip_address
from typing import Final
from urllib.parse import parse_qs, urlsplit

from loadmonitor_worker._listen import check_bindable, format_address
from loadmonitor_worker.errors import ConfigError
from loadmonitor_worker.metrics import make_registry
from loadmonitor_worker.reporter import LoadReporter
from loadmonitor_worker.state import WorkerState

LIVEZ: Final = "/livez"
READYZ: Final = "/readyz"
METRICS: Final = "/metrics"
DRAIN: Final = "/drain"
SIDE_PORT: Final = 9464
"""Where the second listener is by convention; `serve` has it where it was asked for."""
DRAIN_SECONDS: Final = 20.0
"""How long a drain waits by default: less than the 30 s that Kubernetes grants a pod's end by default."""
_MOST_DRAIN_SECONDS = 86_400.0
_HEAD_SECONDS = 10.0
_HEAD_BYTES = 8_192
_MOST_CONNECTIONS = 64
_CLOSE_SECONDS = 1.0
_TEXT = "text/plain; version=0.0.4; charset=utf-8"

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SidePortConfig:
    """Where to listen, and who may drain.

    Attributes:
        port: 0 takes any free one.
        host: Address to listen on.
        remote_drain: Whether others than this machine's own processes may drain.

    Raises:
        ConfigError: The port isn't one, or the host is blank.
    """

    port: int
    host: str
    remote_drain: bool

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65_535:
            raise ConfigError(f"--http-listen: {self.port} is not a TCP port: 0 (any free one) to 65535 is")
        if not self.host.strip():
            raise ConfigError(
                f"--http-listen: the host {self.host!r} is blank: give an address such as 127.0.0.1 or 0.0.0.0"
            )


@asynccontextmanager
async def side_port(reporter: LoadReporter, config: SidePortConfig | None) -> AsyncIterator[str | None]:
    """Listen while the block lasts, and yield the address; without `config` do nothing.

    Raises:
        BindError: The address can't be listened on.
        MissingExtraError: The extra `[prometheus]` isn't installed.
    """
    if config is None:
        yield None
        return
    answers = _Answers(reporter, remote_drain=config.remote_drain)
    await check_bindable(config.host, config.port)
    server = await asyncio.start_server(answers.connected, config.host.strip("[]"), config.port, limit=_HEAD_BYTES)
    try:
        yield format_address(config.host, server.sockets[0].getsockname()[1])
    finally:
        server.close()
        await answers.ended()


@dataclass(frozen=True, slots=True)
class _Answer:
    status: HTTPStatus
    body: bytes
    content_type: str = _TEXT


class _Answers:
    """Answers one request a connection."""

    def __init__(self, reporter: LoadReporter, *, remote_drain: bool) -> None:
        from prometheus_client import generate_latest  # noqa: PLC0415 - make_registry says what is missing

        self._reporter = reporter
        self._remote_drain = remote_drain
        registry = make_registry(reporter)
        self._exposition: Callable[[], bytes] = lambda: generate_latest(registry)
        self._open: set[asyncio.Task[None]] = set()
        self._ending = False

    async def ended(self) -> None:
        """Let the answers under way end, and cut off those that don't."""
        self._ending = True
        if self._open:
            await asyncio.wait(self._open, timeout=_CLOSE_SECONDS)
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        task.add_done_callback(self._open.discard)
        try:
            if len(self._open) <= _MOST_CONNECTIONS:
                async with asyncio.timeout(_HEAD_SECONDS):
                    head = await reader.readuntil(b"\r\n\r\n")
                await self._answer(head.partition(b"\r\n")[0].decode("latin-1"), writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # who leaves, dawdles or talks too much gets no answer; a time-out is an OSError
        except asyncio.CancelledError:
            # Python 3.11's streams log an error of theirs for a handler that ends as cancelled.
            if not self._ending:
                raise
        finally:
            writer.close()

    async def _answer(self, request_line: str, writer: asyncio.StreamWriter) -> None:
        method, _, rest = request_line.partition(" ")
        try:
            answer = await self._respond(method, rest.partition(" ")[0], writer.get_extra_info("peername"))
        except Exception:
            _logger.exception("%s failed", request_line)
            answer = _Answer(HTTPStatus.INTERNAL_SERVER_ERROR, b"failed: the log says why\n")
        head = (
            f"HTTP/1.1 {answer.status.value} {answer.status.phrase}\r\nContent-Type: {answer.content_type}\r\n"
            f"Content-Length: {len(answer.body)}\r\nConnection: close\r\n\r\n"
        )
        writer.write(head.encode() + (b"" if method == "HEAD" else answer.body))
        async with asyncio.timeout(_HEAD_SECONDS):
            await writer.drain()

    async def _respond(self, method: str, target: str, peer: tuple[str, ...] | None) -> _Answer:
        url = urlsplit(target)
        if url.path == DRAIN:
            if method != "POST" and not (method == "GET" and self._remote_drain):
                return _Answer(HTTPStatus.METHOD_NOT_ALLOWED, b"POST it\n")
            if not self._remote_drain and not _is_this_machine(peer):
                message = b"only processes of this machine or pod may drain, unless serve has --remote-drain\n"
                return _Answer(HTTPStatus.FORBIDDEN, message)
            query = parse_qs(url.query, keep_blank_values=True)
            if unknown := ", ".join(sorted(query.keys() - {"timeout_seconds"})):
                return _Answer(HTTPStatus.BAD_REQUEST, f"{unknown}: there is timeout_seconds only\n".encode())
            return await self._drain(query.get("timeout_seconds", [str(DRAIN_SECONDS)])[-1])
        if method not in {"GET", "HEAD"}:
            return _Answer(HTTPStatus.METHOD_NOT_ALLOWED, b"GET it\n")
        if url.path == METRICS:
            return _Answer(HTTPStatus.OK, self._exposition())
        if url.path == LIVEZ:
            return _Answer(HTTPStatus.OK, b"ok\n")
        if url.path == READYZ:
            return self._ready()
        return _Answer(HTTPStatus.NOT_FOUND, f"there are {METRICS}, {LIVEZ}, {READYZ} and {DRAIN}\n".encode())

    def _ready(self) -> _Answer:
        status = self._reporter.measure().last_status
        if status is None:
            return _Answer(
                HTTPStatus.SERVICE_UNAVAILABLE, b"no report yet: the engine is read when a router registers\n"
            )
        readable = status != "UNREACHABLE"
        return _Answer(
            HTTPStatus.OK if readable else HTTPStatus.SERVICE_UNAVAILABLE, f"the last report was {status}\n".encode()
        )

    async def _drain(self, limit: str) -> _Answer:
        try:
            timeout_seconds = float(limit)
        except ValueError:
            timeout_seconds = math.nan
        if not 0 <= timeout_seconds <= _MOST_DRAIN_SECONDS:
            message = f"timeout_seconds={limit!r} is not allowed: 0 to {_MOST_DRAIN_SECONDS:.0f} is\n"
            return _Answer(HTTPStatus.BAD_REQUEST, message.encode())
        started = asyncio.get_running_loop().time()
        self._reporter.set_worker_state(WorkerState.DRAINING)
        outcome = await self._reporter.wait_until_idle(timeout_seconds)
        waited = round(asyncio.get_running_loop().time() - started, 3)
        body = json.dumps({"idle": outcome.idle, "reason": outcome.reason, "waited_seconds": waited}) + "\n"
        status = HTTPStatus.OK if outcome.idle else HTTPStatus.GATEWAY_TIMEOUT
        return _Answer(status, body.encode(), "application/json")


def _is_this_machine(peer: tuple[str, ...] | None) -> bool:
    if not peer:
        return False
    address = ip_address(peer[0])
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address).is_loopback
