"""Router side of load reporting: watch Workers, and know how old what they say is.

    async with MonitorClient("10.0.0.1:50061", router_id="router-a") as client:
        async for report in client:
            print(assess(report, time.monotonic_ns()).freshness, report.ranks)

`MonitorClient` keeps one stream to one Worker and hands over validated `WorkerReport`s; `assess` says whether one is
fresh, and why not; `MonitorClient.connection` says how the stream is doing. `loadmonitor_router.testing` has a scripted
Worker and a manual clock.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from loadmonitor_router.age import (
    DEFAULT_FRESHNESS_MS,
    Assessment,
    Freshness,
    age_ms,
    assess,
    own_age_ms,
    rank_age_ms,
)
from loadmonitor_router.config import ClientConfig, normalize_address
from loadmonitor_router.connection import Connection, ConnectionState, Grant
from loadmonitor_router.errors import (
    ClientStateError,
    ConfigError,
    DropReason,
    InvalidReportError,
    LoadMonitorRouterError,
    NoWorkerError,
    StreamRefusedError,
)
from loadmonitor_router.interfaces import Clock, TimerHandle
from loadmonitor_router.reports import (
    RankLoad,
    Receipt,
    ReportStatus,
    WorkerInfo,
    WorkerReport,
    WorkerState,
    WorkerType,
)

if TYPE_CHECKING:
    from loadmonitor_router.client import MonitorClient
    from loadmonitor_router.decoding import decode_report

__all__ = [
    "DEFAULT_FRESHNESS_MS",
    "Assessment",
    "ClientConfig",
    "ClientStateError",
    "Clock",
    "ConfigError",
    "Connection",
    "ConnectionState",
    "DropReason",
    "Freshness",
    "Grant",
    "InvalidReportError",
    "LoadMonitorRouterError",
    "MonitorClient",
    "NoWorkerError",
    "RankLoad",
    "Receipt",
    "ReportStatus",
    "StreamRefusedError",
    "TimerHandle",
    "WorkerInfo",
    "WorkerReport",
    "WorkerState",
    "WorkerType",
    "age_ms",
    "assess",
    "decode_report",
    "normalize_address",
    "own_age_ms",
    "rank_age_ms",
]

_LAZY = {"MonitorClient": "client", "decode_report": "decoding"}


def __getattr__(name: str) -> Any:
    """Import what needs gRPC or protobuf when it is first used: the command's --help and --version don't wait for it."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
