"""Serving the metrics of some Workers until the process is told to end."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any

from loadmonitor_router.age import Freshness
from loadmonitor_router.cli._process import own_router_id, stopping
from loadmonitor_router.cli._workers import Finding, TroubleLines, make_monitor
from loadmonitor_router.credentials import Credentials
from loadmonitor_router.discovery import Discovery
from loadmonitor_router.errors import LoadMonitorRouterError
from loadmonitor_router.export.collector import FleetCollector, make_registry
from loadmonitor_router.export.http import MetricsServer
from loadmonitor_router.export.loop import on_loop
from loadmonitor_router.export.metrics import EngineMetrics
from loadmonitor_router.snapshot import FleetSnapshot

_TICK_SECONDS = 0.5


async def serve(
    discovery: Discovery,
    *,
    listen: str,
    engine_metrics: EngineMetrics,
    router_id: str | None,
    report_interval_ms: int,
    lease_ttl_ms: int,
    credentials: Credentials,
    announce: Callable[[str], None],
) -> int:
    """Serve until stopped; return the exit code.

    Raises:
        ConfigError: A setting isn't allowed.
        LoadMonitorRouterError: The address to listen on can't be had.
    """
    own_id = own_router_id("export") if router_id is None else router_id
    monitor = make_monitor(own_id, report_interval_ms, lease_ttl_ms, credentials)
    finding = Finding(discovery, monitor.reconcile)
    snapshot = on_loop(monitor.snapshot)
    collector = FleetCollector(
        snapshot, on_loop(lambda: monitor.stats), router_id=router_id, engine_metrics=engine_metrics
    )
    server = MetricsServer(make_registry(collector), listen, not_ready=lambda: _not_ready(snapshot(), finding.trouble))
    trouble = TroubleLines()
    async with AsyncExitStack() as stack:
        stopped = stack.enter_context(stopping())
        try:
            stack.enter_context(server)
        except OSError as error:
            raise LoadMonitorRouterError(f"can't listen on {listen}: {error.strerror}") from error
        announce(server.address)
        await stack.enter_async_context(monitor)
        looking = await stack.enter_async_context(finding.looking())
        ends: set[asyncio.Future[Any]] = {stopped, looking}
        while not stopped.done() and not looking.done():
            await asyncio.wait(ends, timeout=_TICK_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            trouble.tell(finding.trouble)
    return stopped.result()


def _not_ready(fleet: FleetSnapshot, trouble: str | None) -> str | None:
    if any(load.freshness is Freshness.FRESH for load in fleet.workers.values()):
        return None
    return "; ".join(filter(None, (f"none of {len(fleet.workers)} workers is fresh", trouble)))
