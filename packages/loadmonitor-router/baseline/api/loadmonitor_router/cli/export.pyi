from loadmonitor_router.cli._security import NO_SECURITY as NO_SECURITY, SecurityFlags as SecurityFlags
from loadmonitor_router.errors import LoadMonitorRouterError as LoadMonitorRouterError
from loadmonitor_router.export.metrics import EngineMetrics as EngineMetrics

def export(*workers: str, discover: str | None = None, reporter_port: int | None = None, listen: str = '127.0.0.1:9464', engine_metrics: EngineMetrics = ..., router_id: str | None = None, report_interval_ms: int = 1000, lease_ttl_ms: int = 15000, security: SecurityFlags = ...) -> int: ...
