"""`loadmonitor-worker serve`: the Monitor service beside an engine that knows nothing of it."""

import asyncio
import os
import sys

from loadmonitor_worker.cli._logging import set_up_logging
from loadmonitor_worker.cli._options import closing, make_source, stop_signals
from loadmonitor_worker.cli._settings import (
    NO_SERVE_FLAGS,
    NO_SOURCE_FLAGS,
    ServeFlags,
    SidecarConfig,
    SourceFlags,
    sidecar_settings,
)
from loadmonitor_worker.cli._side_port import SidePortConfig, side_port
from loadmonitor_worker.interfaces import LoadSnapshotSource
from loadmonitor_worker.reporter import start_load_reporter


def serve(*, source_flags: SourceFlags = NO_SOURCE_FLAGS, serve_flags: ServeFlags = NO_SERVE_FLAGS) -> int:
    """Report the load of an engine on this machine until stopped.

    Each flag has an environment variable, LOADMONITOR_ and its name in capitals, such as LOADMONITOR_HTTP_LISTEN; the flag
    overrides it. `loadmonitor-worker config --show-origin` lists them.

    The engine need not run yet: while its load can't be read, routers are told UNREACHABLE and why. SIGTERM tells routers
    SHUTTING_DOWN and exits 0. Exits 1, with one line on stderr, when the port is taken.

    Args:
        source_flags: Where the load is read.
        serve_flags: Who is served, and how.
    """
    loaded = sidecar_settings(source_flags, serve_flags)
    config = loaded.config
    set_up_logging(config.log_format, config.log_level)
    # gRPC's own lines go past the log's format, and hold, unescaped, the server name that a client asks TLS for.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    side = None
    if config.http_port is not None:
        side = SidePortConfig(port=config.http_port, host=config.http_host, remote_drain=config.remote_drain)
    return asyncio.run(_serve(config, make_source(loaded), side))


async def _serve(config: SidecarConfig, source: LoadSnapshotSource, side: SidePortConfig | None) -> int:
    async with stop_signals() as stopped, closing(source):
        reporter = await start_load_reporter(config, source)
        assert reporter is not None
        async with reporter, side_port(reporter, side) as http_address:
            sys.stdout.write(f"listening on {reporter.address}\n")
            if http_address is not None:
                sys.stdout.write(f"metrics at http://{http_address}/metrics\n")
            sys.stdout.flush()
            code = await stopped
            await reporter.close()  # before the side port, so that a drain that waits gets its answer
            return code
