"""A standalone gRPC servicer as engine: `smg_grpc_servicer.sglang.server.serve_grpc`, or anything of its shape."""

import importlib.metadata
import inspect
import os
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from typing import Any, Protocol, TypeVar

from loadmonitor_worker.config import ReporterConfig
from loadmonitor_worker.errors import MissingHookError, ServingModeError
from loadmonitor_worker.integrations._running import running_reporter
from loadmonitor_worker.interfaces import LoadSnapshotSource
from loadmonitor_worker.reporter import LoadReporter
from loadmonitor_worker.sources import ManagerSource

HOOK = "on_request_manager_ready"
"""Parameter of `serve_grpc` that takes an async callback; smg-grpc-servicer has it since 0.5.5."""

SERVICER_IMPL_VARIABLE = "SMG_SGLANG_SERVICER_IMPL"
"""Environment variable by which smg-grpc-servicer serves from Rust; there is no request manager then."""

_T = TypeVar("_T")


class RequestManager(Protocol):
    """The part of the servicer's request manager that tells the load of its ranks."""

    async def get_loads(self, include: list[str]) -> Sequence[object]:
        """Return an object per rank with the attributes of SGLang's LoadSnapshot, times in seconds."""


class ServerArgs(Protocol):
    """The part of the engine's settings that says how many ranks there are."""

    @property
    def dp_size(self) -> int:
        """Number of data-parallel groups."""


Ready = Callable[[Any, Any, Any], Awaitable[None]]


class _ManagerOfServicer:
    """A request manager in the shape of SGLang's TokenizerManager, which counts its ranks itself."""

    def __init__(self, manager: RequestManager, server_args: ServerArgs) -> None:
        self._manager = manager
        self._server_args = server_args

    @property
    def elastic_worker_count(self) -> int:
        # Newer engines rewrite data-parallel attention of N ranks into dp_size=1, attn_dp_size=N.
        return self._server_args.dp_size * (getattr(self._server_args, "attn_dp_size", None) or 1)

    async def get_loads(self, include: list[str] | None = None) -> Sequence[object]:
        return await self._manager.get_loads(include=include or ["core"])


def request_manager_source(manager: RequestManager, server_args: ServerArgs) -> LoadSnapshotSource:
    """Return the source that reads a servicer's request manager.

    Its ranks are as many as `server_args.dp_size`, times `attn_dp_size` where the engine has that.
    """
    return ManagerSource(_ManagerOfServicer(manager, server_args))


async def serve_with_reporter(
    serve: Callable[..., Awaitable[_T]],
    server_args: ServerArgs,
    *arguments: object,
    config: ReporterConfig,
    on_request_manager_ready: Ready | None = None,
    on_reporter_ready: Callable[[LoadReporter], None] | None = None,
    **named: object,
) -> _T:
    """Run a servicer's `serve` to its end, with a reporter from when its request manager is ready.

    The reporter starts before the servicer takes requests, on the same event loop; a port that can't be listened on fails the
    servicer's start. It is closed when `serve` has ended in whichever way.

    Args:
        serve: The servicer's async function, such as `smg_grpc_servicer.sglang.server.serve_grpc`.
        server_args: The engine's settings, handed to `serve` first.
        arguments: Handed to `serve` next.
        config: Settings of the reporter; `port=None` switches it off, and `serve` is then called as it is.
        on_request_manager_ready: A callback of your own; called before the reporter starts.
        on_reporter_ready: Called with the running reporter, for its address and for what else the engine tells it; never when
            reporting is off.
        named: Handed to `serve` by name.

    Returns:
        What `serve` returned.

    Raises:
        MissingHookError: Reporting is on, and `serve` takes no `on_request_manager_ready`; it wasn't called.
        ServingModeError: Reporting is on, and the environment selects the Rust servicer, which has no request manager.
        LoadReporterError: The reporter can't start; as `start_load_reporter`, through the servicer's own clean-up.
    """
    if config.port is None:
        own = {} if on_request_manager_ready is None else {HOOK: on_request_manager_ready}
        return await serve(server_args, *arguments, **named, **own)
    _check_hook(serve, config.port)
    async with AsyncExitStack() as stack:

        async def ready(manager: RequestManager, args: ServerArgs, info: object) -> None:
            if on_request_manager_ready is not None:
                await on_request_manager_ready(manager, args, info)
            running = running_reporter(config, lambda: request_manager_source(manager, args))
            reporter = await stack.enter_async_context(running)
            if reporter is not None and on_reporter_ready is not None:
                on_reporter_ready(reporter)

        return await serve(server_args, *arguments, **named, **{HOOK: ready})


def _check_hook(serve: Callable[..., object], port: int) -> None:
    if os.environ.get(SERVICER_IMPL_VARIABLE, "").strip().lower() == "rust":
        raise ServingModeError(
            f"load reporting is on (port={port}), but {SERVICER_IMPL_VARIABLE}=rust selects a servicer without a request "
            "manager: run `loadmonitor-worker serve --source sglang-shm` beside it, or take the Python servicer"
        )
    if HOOK not in inspect.signature(serve).parameters:
        package = serve.__module__.partition(".")[0]
        try:
            found = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found = None
        raise MissingHookError(package, found, HOOK)
