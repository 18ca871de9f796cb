"""Messages of the wire that break no rule, to be changed by a test."""

from collections.abc import Iterable

import loadmonitor_proto as wire


def wire_rank(dp_rank: int = 0, **fields: float | None) -> wire.RankLoad:
    """Return a rank that breaks no rule; `fields` change it, and None makes one of `UNKNOWABLE_FIELDS` unknown."""
    rank = wire.RankLoad(
        dp_rank=dp_rank,
        snapshot_time_unix_ms=1_750_000_000_000,
        num_running_reqs=12,
        num_waiting_reqs=3,
        num_waiting_uncached_tokens=4_096,
        num_used_tokens=50_000,
        num_total_tokens=54_096,
        max_total_num_tokens=100_000,
        max_running_requests=256,
        token_usage=0.5,
        gen_throughput=800.0,
        cache_hit_rate=0.25,
        utilization=0.5,
    )
    unknown = [number for number, name in wire.UNKNOWABLE_FIELDS.items() if name in fields and fields[name] is None]
    for number in unknown:
        fields[wire.UNKNOWABLE_FIELDS[number]] = 0
    for name, value in fields.items():
        setattr(rank, name, value)
    rank.unknown_field_numbers.extend(unknown)
    return rank


def wire_report(
    sequence_id: int,
    *,
    ranks: Iterable[wire.RankLoad] | None = None,
    status: wire.ReportStatus.ValueType = wire.ReportStatus.REPORT_STATUS_HEALTHY,
    last_error: str | None = None,
    source_instance_id: str = "a",
    report_time_unix_ms: int = 1_750_000_000_020,
    max_snapshot_age_ms: int | None = 20,
) -> wire.LoadReport:
    """Return a report that breaks no rule, of one rank unless told otherwise."""
    return wire.LoadReport(
        source_instance_id=source_instance_id,
        sequence_id=sequence_id,
        report_time_unix_ms=report_time_unix_ms,
        worker=wire.Worker(worker_addr="http://127.0.0.1:30000", worker_type=wire.WorkerType.WORKER_TYPE_REGULAR),
        status=status,
        last_error=last_error,
        ranks=[wire_rank()] if ranks is None else ranks,
        max_snapshot_age_ms=max_snapshot_age_ms,
    )
