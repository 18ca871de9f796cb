"""The fleet for Prometheus and Grafana: a collector, its HTTP server, a dashboard and alert rules from one metric table.

For example::

    registry = make_registry(FleetCollector(on_loop(monitor.snapshot), on_loop(lambda: stats)))
    with MetricsServer(registry, "127.0.0.1:9464", not_ready=lambda: None):
        ...

The collector and the server need the extra `[prometheus]`; the table, the dashboard and the rules need nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from loadmonitor_router.export.alerts import DEFAULT_RUNBOOK, alert_rules
from loadmonitor_router.export.dashboard import UID, dashboard
from loadmonitor_router.export.metrics import (
    ENGINE_FAMILIES,
    FAMILIES,
    EngineFamilies,
    EngineMetrics,
    Family,
    Kind,
    Unit,
)

if TYPE_CHECKING:
    from loadmonitor_router.export.collector import FleetCollector, make_registry
    from loadmonitor_router.export.http import MetricsServer
    from loadmonitor_router.export.loop import on_loop

__all__ = [
    "DEFAULT_RUNBOOK",
    "ENGINE_FAMILIES",
    "FAMILIES",
    "UID",
    "EngineFamilies",
    "EngineMetrics",
    "Family",
    "FleetCollector",
    "Kind",
    "MetricsServer",
    "Unit",
    "alert_rules",
    "dashboard",
    "make_registry",
    "on_loop",
]

_LAZY = {"FleetCollector": "collector", "make_registry": "collector", "MetricsServer": "http", "on_loop": "loop"}


def __getattr__(name: str) -> Any:
    """Import what needs prometheus-client, or asyncio, when it is first used."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
