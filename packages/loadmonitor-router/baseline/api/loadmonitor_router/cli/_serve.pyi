from collections.abc import Callable as Callable
from loadmonitor_router.age import Freshness as Freshness
from loadmonitor_router.cli._process import own_router_id as own_router_id, stopping as stopping
from loadmonitor_router.cli._workers import Finding as Finding, TroubleLines as TroubleLines, make_monitor as make_monitor
from loadmonitor_router.credentials import Credentials as Credentials
from loadmonitor_router.discovery import Discovery as Discovery
from loadmonitor_router.errors import LoadMonitorRouterError as LoadMonitorRouterError
from loadmonitor_router.export.collector import FleetCollector as FleetCollector, make_registry as make_registry
from loadmonitor_router.export.http import MetricsServer as MetricsServer
from loadmonitor_router.export.loop import on_loop as on_loop
from loadmonitor_router.export.metrics import EngineMetrics as EngineMetrics
from loadmonitor_router.snapshot import FleetSnapshot as FleetSnapshot

async def serve(discovery: Discovery, *, listen: str, engine_metrics: EngineMetrics, router_id: str | None, report_interval_ms: int, lease_ttl_ms: int, credentials: Credentials, announce: Callable[[str], None]) -> int: ...
