"""Serving the metrics of some Workers until the process is told to end."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import ExitStack

from loadmonitor_router.age import Freshness
from loadmonitor_router.cli._monitor import CommandMonitor
from loadmonitor_router.cli._process import own_router_id, stop_signals
from loadmonitor_router.errors import LoadMonitorRouterError
from loadmonitor_router.export.collector import FleetCollector, make_registry
from loadmonitor_router.export.http import MetricsServer
from loadmonitor_router.export.loop import on_loop
from loadmonitor_router.export.metrics import EngineMetrics
from loadmonitor_router.snapshot import FleetSnapshot


async def serve(
    workers: Sequence[str],
    *,
    listen: str,
    engine_metrics: EngineMetrics,
    router_id: str | None,
    interval_ms: int,
    lease_ttl_ms: int,
    announce: Callable[[str], None],
) -> int:
    """Serve until stopped; return the exit code.

    Raises:
        ConfigError: A setting isn't allowed.
        LoadMonitorRouterError: The address to listen on can't be had.
    """
    monitor = CommandMonitor(
        workers,
        router_id=own_router_id("export") if router_id is None else router_id,
        interval_ms=interval_ms,
        lease_ttl_ms=lease_ttl_ms,
    )
    snapshot = on_loop(monitor.snapshot)
    collector = FleetCollector(snapshot, on_loop(lambda: monitor), router_id=router_id, engine_metrics=engine_metrics)
    server = MetricsServer(make_registry(collector), listen, not_ready=lambda: _not_ready(snapshot()))
    stopped: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def stop(code: int) -> None:
        if not stopped.done():
            stopped.set_result(code)

    with ExitStack() as stack:
        stack.enter_context(stop_signals(stop))
        try:
            stack.enter_context(server)
        except OSError as error:
            raise LoadMonitorRouterError(f"can't listen on {listen}: {error.strerror}") from error
        announce(server.address)
        async with monitor:
            return await stopped


def _not_ready(fleet: FleetSnapshot) -> str | None:
    if any(load.freshness is Freshness.FRESH for load in fleet.workers.values()):
        return None
    return f"none of {len(fleet.workers)} workers is fresh"
