"""`p2p-registry serve`: the registry until stopped."""

import asyncio
import logging
import os
import sys
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from p2p_registry._health import Health
from p2p_registry.backends import open_backend
from p2p_registry.cli._logging import LogFormat, LogLevel, set_up_logging
from p2p_registry.cli._side_port import SIDE_PORT, Page, side_port
from p2p_registry.cli._stopping import stop_signals
from p2p_registry.errors import SettingError
from p2p_registry.serving import GRACE_SECONDS, RegistryServer, ServerConfig

if TYPE_CHECKING:
    from p2p_registry.prometheus import RegistryMetrics

_log = logging.getLogger("p2p_registry")
_Unset = Parameter(show_default=False)
_DEFAULT_REDIS = "redis://localhost:6379"


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class ServeFlags:
    """Who is served, and how.

    Args:
        listen: Address as HOST:PORT; 0.0.0.0:8001 for every interface. Port 0 takes any free one, told by the first line of output.
        refuse_invalid_load: Answer success=false to a load that isn't from 0 to 1. Publishers of modelexpress publish anew after two
            such answers, so this is for finding a faulty source.
        tls_cert_file: PEM file of the certificate that clients see; with --tls-key-file it switches TLS on. Looked at once a second,
            as the three below: a change counts for new connections and calls.
        tls_key_file: PEM file of its key, not encrypted.
        tls_client_ca_file: PEM file of the CAs that sign clients' certificates; only who has one can then connect.
        auth_token_file: File of bearer tokens, one a line, of which each call must bring one.
        max_message_bytes: Largest request that is taken.
        max_requests_per_second: Most calls from one address, as a mean over a second. By default there is no limit.
    """

    listen: str = "127.0.0.1:8001"
    refuse_invalid_load: Annotated[bool, Parameter(negative="", show_default=False)] = False
    tls_cert_file: Annotated[Path | None, _Unset] = None
    tls_key_file: Annotated[Path | None, _Unset] = None
    tls_client_ca_file: Annotated[Path | None, _Unset] = None
    auth_token_file: Annotated[Path | None, _Unset] = None
    max_message_bytes: int = 100 * 2**20
    max_requests_per_second: Annotated[int | None, _Unset] = None


_DEFAULTS = ServeFlags()


def run_serve(
    *,
    backend: Annotated[str | None, _Unset] = None,
    flags: ServeFlags = _DEFAULTS,
    http_host: str = "127.0.0.1",
    http_port: Annotated[int | None, Parameter(negative_none="no-")] = SIDE_PORT,
    log_format: LogFormat = "text",
    log_level: LogLevel = "info",
) -> int:
    """Serve the metadata of weight sources until stopped.

    The store need not answer yet: until it does, /readyz and grpc.health.v1 say
    so, and publishers and pullers are refused in the words that they expect.
    SIGTERM lets calls under way end and exits 0. Exits 1, with one line on
    stderr, on a taken port or a file that can't be used.

    Args:
        backend: The store: memory, memory:///PATH for one that is saved to a file, redis://HOST:PORT, or kubernetes://NAMESPACE. By
            default what MX_METADATA_BACKEND says, with REDIS_URL or MX_METADATA_NAMESPACE, else memory.
        flags: Who is served, and how.
        http_host: Address of the second listener; 0.0.0.0 for probes and scrapers on other machines.
        http_port: Its port, for /metrics, /livez and /readyz; 0 takes any free one, told by the second line of output.
        log_format: json writes one object a line.
        log_level: What is logged on stderr.
    """
    config = ServerConfig(**asdict(flags))
    url = backend_url(os.environ) if backend is None else backend
    set_up_logging(log_format, log_level)
    return asyncio.run(_serve(config, url, None if http_port is None else (http_host, http_port)))


def backend_url(environ: Mapping[str, str]) -> str:
    """Return the store that the variables of modelexpress' server name, or memory.

    Raises:
        SettingError: MX_METADATA_BACKEND names one that its variables don't describe here.
    """
    kind = environ.get("MX_METADATA_BACKEND", "").strip().lower() or "memory"
    if kind == "memory":
        return "memory"
    if kind == "redis":
        return environ.get("REDIS_URL") or _DEFAULT_REDIS
    if kind == "kubernetes":
        namespace = environ.get("MX_METADATA_NAMESPACE") or environ.get("POD_NAMESPACE")
        if not namespace:
            raise SettingError("MX_METADATA_BACKEND", kind, "needs MX_METADATA_NAMESPACE or POD_NAMESPACE beside it")
        return f"kubernetes://{namespace}"
    raise SettingError(
        "MX_METADATA_BACKEND", kind, "is not allowed: memory, redis or kubernetes is; else give --backend"
    )


async def _serve(config: ServerConfig, url: str, side: tuple[str, int] | None) -> int:
    async with stop_signals() as stopped, AsyncExitStack() as stack:
        backend = await open_backend(url)
        stack.push_async_callback(backend.aclose)
        metrics = None if side is None else _make_metrics(kind_of(url))
        if metrics is not None:
            backend = metrics.watching(backend)
        server = RegistryServer(backend, config, observer=metrics)
        http_address = None
        if side is not None:
            # Before the server, and so until after it: probes are answered to the end.
            http_address = await stack.enter_async_context(side_port(*side, _pages(server.health, metrics)))
        await stack.enter_async_context(server)
        sys.stdout.write(f"listening on {server.address}\n")
        if http_address is not None:
            sys.stdout.write(f"metrics at http://{http_address}/metrics\n")
        sys.stdout.flush()
        code = await stopped.get()
        _log.info("closing: calls under way may take %.0f s to end", GRACE_SECONDS)
        return code


def kind_of(url: str) -> str:
    """Return what a store is called in metrics, where modelexpress' server knows memory, redis and kubernetes."""
    scheme = url.partition(":")[0]
    return {"rediss": "redis", "unix": "redis"}.get(scheme, scheme)


def _make_metrics(backend: str) -> "RegistryMetrics | None":
    os.environ.setdefault("PROMETHEUS_DISABLE_CREATED_SERIES", "True")
    try:
        from p2p_registry.prometheus import RegistryMetrics  # noqa: PLC0415 - the extra may be missing
    except ModuleNotFoundError:
        _log.warning("/metrics has nothing to show: pip install 'p2p-registry[prometheus]'")
        return None
    return RegistryMetrics(backend=backend, scheme=os.environ.get("MX_METRICS_SCHEME", ""))


def _pages(health: Health, metrics: "RegistryMetrics | None") -> Mapping[str, Page]:
    def ready() -> tuple[HTTPStatus, bytes]:
        fault = health.fault
        status = HTTPStatus.OK if fault is None else HTTPStatus.SERVICE_UNAVAILABLE
        return status, f"{fault or 'the store answers'}\n".encode()

    def exposition() -> tuple[HTTPStatus, bytes]:
        if metrics is None:
            return HTTPStatus.NOT_IMPLEMENTED, b"pip install 'p2p-registry[prometheus]'\n"
        from prometheus_client import generate_latest  # noqa: PLC0415 - the extra may be missing

        return HTTPStatus.OK, generate_latest(metrics.registry)

    return {"/metrics": exposition, "/livez": lambda: (HTTPStatus.OK, b"ok\n"), "/readyz": ready}
