"""The HTTP server of an exporter: /metrics, /livez and /readyz, on threads of its own."""

import logging
import socket
import sys
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from ipaddress import AddressValueError, IPv6Address
from socketserver import ThreadingTCPServer
from threading import Thread
from types import TracebackType
from typing import Self

from prometheus_client import CollectorRegistry, generate_latest

from loadmonitor_router.errors import ConfigError

_logger = logging.getLogger(__name__)

_SILENT_SECONDS = 30.0  # a connection on which nothing comes for so long is closed; scrapes come more often
_POLL_SECONDS = 0.05
# Whatever is asked for: in the OpenMetrics format prometheus-client writes vllm:… as vllm_… for scrapers of before 2025.
_TEXT = "text/plain; version=0.0.4; charset=utf-8"


class MetricsServer:
    """Serves a registry while the `with` block lasts.

        with MetricsServer(registry, "127.0.0.1:9464", not_ready=lambda: None) as server:
            print(server.address)

    Scrapes run on threads beside the caller's event loop, so a large fleet's scrape doesn't hold up its reports.
    """

    def __init__(self, registry: CollectorRegistry, listen: str, *, not_ready: Callable[[], str | None]) -> None:
        """Check the address; nothing listens yet.

        Args:
            registry: What /metrics shows.
            listen: `host:port` or `[ipv6]:port`; port 0 takes any free one.
            not_ready: Says why /readyz is to answer 503, or None for 200; called from a server's thread.

        Raises:
            ConfigError: `listen` isn't of that form.
        """
        self._host, self._port = _split(listen)
        self._registry = registry
        self._not_ready = not_ready
        self.address: str = ""

    def __enter__(self) -> Self:
        """Listen.

        Raises:
            OSError: The address is taken, or isn't one of this machine.
        """
        kind = _Server6 if ":" in self._host else _Server
        self._server = kind((self._host, self._port), _Handler)
        self._server.registry = self._registry
        self._server.not_ready = self._not_ready
        port = self._server.server_address[1]
        self.address = f"[{self._host}]:{port}" if ":" in self._host else f"{self._host}:{port}"
        self._thread = Thread(target=self._server.serve_forever, args=(_POLL_SECONDS,), daemon=True, name="metrics")
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingTCPServer):
    registry: CollectorRegistry
    not_ready: Callable[[], str | None]
    allow_reuse_address = True  # a restart doesn't wait for the connections of the last run
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of clients that leave in the middle; a scrape that fails is answered and logged."""
        _logger.debug("%r of %s ended: %r", request, client_address, sys.exception())


class _Server6(_Server):
    address_family = socket.AF_INET6


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    server_version = "loadmonitor"
    sys_version = ""
    timeout = _SILENT_SECONDS

    def do_GET(self) -> None:
        """Answer a scrape or a probe."""
        try:
            status, body = self._content(self.path.partition("?")[0])
        except Exception:
            _logger.exception("%s failed", self.path)
            status, body = 500, b"failed: the log says why\n"
        self.send_response(status)
        self.send_header("Content-Type", _TEXT)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_HEAD = do_GET  # noqa: N815 - as above

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it
        """Write no line for every scrape and probe."""

    def _content(self, path: str) -> tuple[int, bytes]:
        if path == "/metrics":
            return 200, generate_latest(self.server.registry)
        if path == "/livez":
            return 200, b"ok\n"
        if path == "/readyz":
            reason = self.server.not_ready()
            return (200, b"ok\n") if reason is None else (503, f"{reason}\n".encode())
        return 404, b"there are /metrics, /livez and /readyz\n"


def _split(listen: str) -> tuple[str, int]:
    host, _, port = listen.rpartition(":")
    if not host or not (port.isascii() and port.isdigit() and int(port) <= 65_535):
        raise _bad_listen(listen)
    if host.startswith("[") and host.endswith("]"):
        try:
            return str(IPv6Address(host[1:-1])), int(port)
        except AddressValueError:
            raise _bad_listen(listen) from None
    if ":" in host:
        raise _bad_listen(listen)
    return host, int(port)


def _bad_listen(listen: str) -> ConfigError:
    return ConfigError(f"can't listen on {listen!r}: allowed are host:port and [ipv6]:port, port 0 for any free one")
