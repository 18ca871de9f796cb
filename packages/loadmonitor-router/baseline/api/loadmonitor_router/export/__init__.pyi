from loadmonitor_router.export.alerts import DEFAULT_RUNBOOK as DEFAULT_RUNBOOK, alert_rules as alert_rules
from loadmonitor_router.export.collector import FleetCollector as FleetCollector, make_registry as make_registry
from loadmonitor_router.export.dashboard import UID as UID, dashboard as dashboard
from loadmonitor_router.export.http import MetricsServer as MetricsServer
from loadmonitor_router.export.loop import on_loop as on_loop
from loadmonitor_router.export.metrics import ENGINE_FAMILIES as ENGINE_FAMILIES, EngineFamilies as EngineFamilies, EngineMetrics as EngineMetrics, FAMILIES as FAMILIES, Family as Family, Kind as Kind, Unit as Unit

__all__ = ['DEFAULT_RUNBOOK', 'alert_rules', 'UID', 'dashboard', 'ENGINE_FAMILIES', 'FAMILIES', 'EngineFamilies', 'EngineMetrics', 'Family', 'Kind', 'Unit', 'FleetCollector', 'make_registry', 'MetricsServer', 'on_loop']
