from _typeshed import Incomplete
from collections.abc import Callable as Callable
from http.server import BaseHTTPRequestHandler
from loadmonitor_router.errors import ConfigError as ConfigError
from prometheus_client import CollectorRegistry as CollectorRegistry
from socketserver import ThreadingTCPServer
from types import TracebackType
from typing import Self

class MetricsServer:
    address: str
    def __init__(self, registry: CollectorRegistry, listen: str, *, not_ready: Callable[[], str | None]) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None: ...

class _Server(ThreadingTCPServer):
    registry: CollectorRegistry
    not_ready: Callable[[], str | None]
    allow_reuse_address: bool
    daemon_threads: bool
    block_on_close: bool
    request_queue_size: int
    def handle_error(self, request: object, client_address: object) -> None: ...

class _Server6(_Server):
    address_family: Incomplete

class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version: str
    server_version: str
    sys_version: str
    timeout: Incomplete
    def do_GET(self) -> None: ...
    do_HEAD = do_GET
    def log_message(self, format: str, *args: object) -> None: ...
