"""Snapshots made by hand, for tests of pickers and of programs that use them; needs no gRPC.

fleet = make_snapshot(make_worker("http://a:1", make_rank(num_waiting_reqs=3)), make_worker("http://b:1"))
"""

from dataclasses import replace

from loadmonitor_router.age import Freshness
from loadmonitor_router.connection import Connection, ConnectionState
from loadmonitor_router.reports import RankLoad, Receipt, ReportStatus, WorkerInfo, WorkerReport, WorkerState
from loadmonitor_router.snapshot import FleetSnapshot, WorkerLoad, WorkerTarget

_NS_PER_MS = 1_000_000


def make_rank(
    dp_rank: int = 0,
    *,
    num_running_reqs: int = 0,
    num_waiting_reqs: int = 0,
    token_usage: float | None = 0.0,
    max_running_requests: int | None = 100,
) -> RankLoad:
    """Return a rank that is idle unless told otherwise."""
    return RankLoad(
        dp_rank=dp_rank,
        snapshot_time_unix_ms=1_750_000_000_000,
        num_running_reqs=num_running_reqs,
        num_waiting_reqs=num_waiting_reqs,
        num_waiting_uncached_tokens=0,
        num_used_tokens=0,
        num_total_tokens=0,
        max_total_num_tokens=100_000,
        max_running_requests=max_running_requests,
        token_usage=token_usage,
        gen_throughput=0.0,
        cache_hit_rate=0.0,
        utilization=None,
        prefill_throughput=None,
        prefill_uncached_tokens_total=None,
        prefill_busy_us_total=None,
        generated_tokens_total=None,
    )


def make_worker(
    url: str,
    *ranks: RankLoad,
    freshness: Freshness = Freshness.FRESH,
    age_ms: float = 0.0,
    worker_state: WorkerState | None = None,
    active_routers: int | None = None,
    received: int = 1,
) -> WorkerLoad:
    """Return a Worker; without `ranks` it has one idle rank, and a MISSING one has no report.

    Args:
        url: Its name.
        ranks: In the order of their `dp_rank`.
        freshness: What may be concluded.
        age_ms: How old its numbers are when the snapshot is taken.
        worker_state: Where its engine stands.
        active_routers: Routers registered at it.
        received: Valid reports so far; 0 for a Worker that hasn't reported yet.
    """
    report = WorkerReport(
        source_instance_id="a",
        sequence_id=1,
        report_time_unix_ms=1_750_000_000_000,
        worker=WorkerInfo(worker_addr=url, worker_type=None, model=None, zone=None),
        status=ReportStatus.UNREACHABLE if freshness is Freshness.UNREACHABLE else ReportStatus.HEALTHY,
        last_error="the engine is gone" if freshness is Freshness.UNREACHABLE else None,
        ranks=() if freshness is Freshness.UNREACHABLE else ranks or (make_rank(),),
        max_snapshot_age_ms=0,
        worker_state=worker_state,
        active_routers=active_routers,
        receipt=Receipt(monotonic_ns=0, delay_ms=0.0),
    )
    missing = freshness is Freshness.MISSING
    return WorkerLoad(
        target=WorkerTarget(url=url, reporter="127.0.0.1:50061"),
        freshness=freshness,
        reason=None if freshness is Freshness.FRESH else f"made {freshness}",
        age_ms=None if missing else age_ms,
        receipt_age_ms=None if missing else age_ms,
        report=None if missing else report,
        aggregate=None,
        queue_pressure_seconds={},
        connection=Connection(
            state=ConnectionState.REGISTERED,
            since_ns=0,
            retry_at_ns=None,
            last_error=None,
            grant=None,
            reconnects=0,
            received=received,
            dropped={},
            last_drop=None,
            superseded=0,
        ),
    )


def make_snapshot(*workers: WorkerLoad, taken_ms: float = 0.0) -> FleetSnapshot:
    """Return a snapshot of the Workers, taken at that time of the monotonic clock; the receipts are set to match."""
    taken_ns = int(taken_ms * _NS_PER_MS)
    by_url = {worker.target.url: _received(worker, taken_ns) for worker in workers}
    return FleetSnapshot(version=1, taken_ns=taken_ns, workers=dict(sorted(by_url.items())))


def _received(worker: WorkerLoad, taken_ns: int) -> WorkerLoad:
    if worker.report is None or worker.age_ms is None:
        return worker
    receipt = Receipt(monotonic_ns=taken_ns - int(worker.age_ms * _NS_PER_MS), delay_ms=0.0)
    return replace(worker, report=replace(worker.report, receipt=receipt))
