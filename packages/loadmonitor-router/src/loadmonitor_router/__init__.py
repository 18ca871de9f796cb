"""Router side of load reporting: watch Workers, and know how old what they say is.

    async with MonitorClient("10.0.0.1:50061", router_id="router-a") as client:
        async for report in client:
            print(assess(report, time.monotonic_ns()).freshness, report.ranks)

`MonitorClient` keeps one stream to one Worker and hands over validated `WorkerReport`s; `assess` says whether one is
fresh, and why not; `MonitorClient.connection` says how the stream is doing. `LoadMonitor` does this for a whole fleet and
keeps one snapshot of it. `loadmonitor_router.testing` has a scripted Worker and a manual clock, `loadmonitor_router.conformance`
judges Workers by the contract.
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
from loadmonitor_router.aggregate import aggregate_ranks
from loadmonitor_router.config import ClientConfig, normalize_address
from loadmonitor_router.connection import Connection, ConnectionState, Grant, TlsFault
from loadmonitor_router.credentials import PLAINTEXT, Credentials
from loadmonitor_router.errors import (
    ClientStateError,
    ConfigError,
    CredentialFileError,
    DiscoveryError,
    DropReason,
    DuplicateWorkerError,
    ForkedProcessError,
    InvalidReportError,
    LoadMonitorRouterError,
    MissingExtraError,
    NoReporterError,
    NoWorkerError,
    StreamRefusedError,
    WatchExpiredError,
    WorkerListError,
)
from loadmonitor_router.explanation import Explanation, Hop, explain
from loadmonitor_router.interfaces import Clock, TimerHandle
from loadmonitor_router.pressure import PrefillRates, queue_pressure_seconds
from loadmonitor_router.reports import (
    NEVER_PICKED,
    RankLoad,
    Receipt,
    ReportStatus,
    WorkerInfo,
    WorkerReport,
    WorkerState,
    WorkerType,
)
from loadmonitor_router.snapshot import FleetSnapshot, WorkerAggregate, WorkerLoad, WorkerTarget
from loadmonitor_router.stats import Histogram, MonitorStats, ReconnectReason

if TYPE_CHECKING:
    from loadmonitor_router.client import MonitorClient
    from loadmonitor_router.decoding import decode_report
    from loadmonitor_router.monitor import LoadMonitor

__all__ = [
    "DEFAULT_FRESHNESS_MS",
    "NEVER_PICKED",
    "PLAINTEXT",
    "Assessment",
    "ClientConfig",
    "ClientStateError",
    "Clock",
    "ConfigError",
    "Connection",
    "ConnectionState",
    "CredentialFileError",
    "Credentials",
    "DiscoveryError",
    "DropReason",
    "DuplicateWorkerError",
    "Explanation",
    "FleetSnapshot",
    "ForkedProcessError",
    "Freshness",
    "Grant",
    "Histogram",
    "Hop",
    "InvalidReportError",
    "LoadMonitor",
    "LoadMonitorRouterError",
    "MissingExtraError",
    "MonitorClient",
    "MonitorStats",
    "NoReporterError",
    "NoWorkerError",
    "PrefillRates",
    "RankLoad",
    "Receipt",
    "ReconnectReason",
    "ReportStatus",
    "StreamRefusedError",
    "TimerHandle",
    "TlsFault",
    "WatchExpiredError",
    "WorkerAggregate",
    "WorkerInfo",
    "WorkerListError",
    "WorkerLoad",
    "WorkerReport",
    "WorkerState",
    "WorkerTarget",
    "WorkerType",
    "age_ms",
    "aggregate_ranks",
    "assess",
    "decode_report",
    "explain",
    "normalize_address",
    "own_age_ms",
    "queue_pressure_seconds",
    "rank_age_ms",
]

_LAZY = {
    "LoadMonitor": "monitor",
    "MonitorClient": "client",
    "decode_report": "decoding",
}


def __getattr__(name: str) -> Any:
    """Import what needs gRPC or protobuf when it is first used: the command's --help and --version don't wait for it."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
