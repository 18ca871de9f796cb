"""Workers, fleets and counters as the tests of exports and explanations need them."""

from collections.abc import Mapping
from dataclasses import replace

import loadmonitor_proto as wire
from loadmonitor_proto import RankLoad, ReportStatus
from loadmonitor_router import (
    Connection,
    ConnectionState,
    Freshness,
    Grant,
    MonitorStats,
    Receipt,
    WorkerType,
    decode_report,
)
from loadmonitor_router.snapshot import FleetSnapshot, WorkerLoad, WorkerTarget
from loadmonitor_router.testing import wire_rank, wire_report

NOW_NS = 100_000_000_000

GRANT = Grant(
    lease_ttl_ms=15_000,
    renew_after_ms=5_000,
    report_interval_ms=1_000,
    stale_after_ms=3_000,
    min_report_interval_ms=10,
    max_lease_ttl_ms=300_000,
    source_instance_id="a",
    max_unacked_reports=1,
)

REGISTERED = Connection(
    state=ConnectionState.REGISTERED,
    since_ns=NOW_NS - 3_200_000_000,
    retry_at_ns=None,
    last_error=None,
    grant=GRANT,
    reconnects=0,
    received=4,
    dropped={},
    last_drop=None,
    superseded=0,
)


def worker_load(
    url: str,
    *ranks: RankLoad,
    freshness: Freshness = Freshness.FRESH,
    reason: str | None = None,
    age_ms: float | None = 84.0,
    model: str | None = "m",
    worker_type: WorkerType = WorkerType.REGULAR,
    pressure: Mapping[int, float | None] | None = None,
    status: ReportStatus.ValueType = ReportStatus.REPORT_STATUS_HEALTHY,
    last_error: str | None = None,
    connection: Connection = REGISTERED,
) -> WorkerLoad:
    """Return a Worker whose report has these ranks, one when there is none; without a report when MISSING."""
    report = None
    if freshness is not Freshness.MISSING:
        rankless = status == ReportStatus.REPORT_STATUS_UNREACHABLE
        message = wire_report(7, ranks=[] if rankless else ranks or None, status=status, last_error=last_error)
        if model is not None:
            message.worker.model = model
        message.worker.worker_type = wire.WorkerType.Value(worker_type)
        report = decode_report(message, Receipt(monotonic_ns=NOW_NS - 40_000_000, delay_ms=4.0))
    return WorkerLoad(
        target=WorkerTarget(url=url, reporter="127.0.0.1:1"),
        freshness=freshness,
        reason=reason,
        age_ms=None if report is None else age_ms,
        receipt_age_ms=None if report is None else 40.0,
        report=report,
        aggregate=None,
        queue_pressure_seconds=pressure or {},
        connection=connection,
    )


def fleet(*loads: WorkerLoad) -> FleetSnapshot:
    """Return a snapshot of these Workers."""
    return FleetSnapshot(version=1, taken_ns=NOW_NS, workers={load.target.url: load for load in loads})


def lost(last_error: str = "UNAVAILABLE: Connection refused") -> Connection:
    """Return a connection that is to be dialled again in 1.5 s."""
    return replace(
        REGISTERED,
        state=ConnectionState.BACKING_OFF,
        grant=None,
        retry_at_ns=NOW_NS + 1_500_000_000,
        last_error=last_error,
        reconnects=3,
    )


def everything() -> tuple[FleetSnapshot, MonitorStats]:
    """Return a fleet and counters in which every family has a series."""
    rank = wire_rank(0)
    rank.prefill_throughput = 4_096.0
    counts = MonitorStats(reports_total=9, fail_open=False, picks_total={"least_loaded": 2})
    counts.delivery_age_seconds.observe(0.02)
    return fleet(worker_load("http://10.0.0.1:30000", rank, pressure={0: 1.0})), counts
