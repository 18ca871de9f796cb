"""`loadmonitor export`: the load of some Workers for Prometheus."""

import os
import sys

from loadmonitor_router.cli._security import NO_SECURITY, SecurityFlags
from loadmonitor_router.errors import LoadMonitorRouterError
from loadmonitor_router.export.metrics import EngineMetrics


def export(
    *workers: str,
    discover: str | None = None,
    reporter_port: int | None = None,
    listen: str = "127.0.0.1:9464",
    engine_metrics: EngineMetrics = EngineMetrics.OFF,
    router_id: str | None = None,
    report_interval_ms: int = 1_000,
    lease_ttl_ms: int = 15_000,
    security: SecurityFlags = NO_SECURITY,
) -> int:
    """Export the load of Workers to Prometheus.

    Serves /metrics, /livez and /readyz (200 once a worker is fresh). The
    load of a worker that isn't fresh is left out rather than shown as new.
    Runs until stopped; exits 1 when the address is taken. With --discover
    workers come and go while it runs, those that are gone leave at once, and
    a look that fails is told on stderr while the workers found before stand.

    Args:
        workers: Load reporters, each as host:port or [ipv6]:port.
        discover: Instead of addresses where to find workers: file:PATH, dns:NAME:PORT, srv:NAME, k8s:NAMESPACE/LABEL=VALUE, router:URL or static:URL.
        reporter_port: With --discover the port of a load reporter, where what is found doesn't tell it; otherwise 50061.
        listen: Where to serve, host:port or [ipv6]:port; port 0 takes any free one.
        engine_metrics: Show the load under this engine's names too, in one series each: only for engines that don't export them.
        router_id: Register under this id, and show it as the label router_id; otherwise an id of its own, not shown.
        report_interval_ms: Wished time between two reports of a Worker.
        lease_ttl_ms: Wished lease: a Worker that hears nothing for so long forgets this command.
        security: How this command and the Workers know each other.
    """
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    import asyncio  # noqa: PLC0415 - nothing of this is needed for --help

    from loadmonitor_router.cli._workers import choose_workers  # noqa: PLC0415

    discovery = choose_workers("export", workers, discover, reporter_port)
    try:
        from loadmonitor_router.cli._serve import serve  # noqa: PLC0415
    except ModuleNotFoundError as missing:
        raise LoadMonitorRouterError(
            f"export needs {missing.name}: pip install 'loadmonitor-router[cli,prometheus]'"
        ) from missing

    def announce(address: str) -> None:
        sys.stdout.write(f"listening on {address}\n")
        sys.stdout.flush()

    return asyncio.run(
        serve(
            discovery,
            listen=listen,
            engine_metrics=engine_metrics,
            router_id=router_id,
            report_interval_ms=report_interval_ms,
            lease_ttl_ms=lease_ttl_ms,
            credentials=security.credentials(),
            announce=announce,
        )
    )
