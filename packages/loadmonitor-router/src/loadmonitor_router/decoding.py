"""From the wire's LoadReport to a WorkerReport: every rule that decides whether a report may be used, and nothing else."""

import math
from dataclasses import replace
from typing import Any

import loadmonitor_proto as wire
from loadmonitor_router.errors import DropReason, InvalidReportError
from loadmonitor_router.reports import (
    RankLoad,
    Receipt,
    ReportStatus,
    WorkerInfo,
    WorkerReport,
    WorkerState,
    WorkerType,
)

_STATUSES = {int(wire.ReportStatus.Value(status)): status for status in ReportStatus}
_WORKER_TYPES = {int(wire.WorkerType.Value(kind)): kind for kind in WorkerType}
_WORKER_STATES = {int(wire.WorkerState.Value(state)): state for state in WorkerState}

_RATES = ("token_usage", "gen_throughput", "cache_hit_rate", "utilization", "prefill_throughput")
_FIELDS = wire.RankLoad.DESCRIPTOR.fields_by_number
_NEVER_NEGATIVE = tuple(field.name for field in _FIELDS.values() if field.name != "unknown_field_numbers")
_INFINITY = math.inf
_NOT_COMPUTED = -1.0  # how SGLang writes a utilization that it doesn't compute


def decode_report(report: wire.LoadReport, receipt: Receipt) -> WorkerReport:
    """Check a report against the contract and turn it into what a Router may use.

    Capacity of 0, a time of 0, a utilization of -1, empty descriptions, absent optional fields and those that a rank names in
    `unknown_field_numbers` become None.

    Args:
        report: The message as it arrived.
        receipt: How it arrived; taken over unread.

    Raises:
        InvalidReportError: The report must not be used; the error names the reason, the field and the rank.
    """
    if not report.source_instance_id.strip():
        raise InvalidReportError(
            DropReason.NO_SOURCE_INSTANCE, "source_instance_id is blank", field="source_instance_id"
        )
    status = _STATUSES.get(report.status)
    if status is None:
        raise InvalidReportError(
            DropReason.NO_STATUS,
            f"status {report.status} is not one of HEALTHY, STALE and UNREACHABLE",
            field="status",
        )
    for field in ("report_time_unix_ms", "max_snapshot_age_ms"):
        if getattr(report, field) < 0:
            raise InvalidReportError(DropReason.NEGATIVE, f"{field}={getattr(report, field)} is negative", field=field)
    last_error = report.last_error or None
    _check_presence(status, last_error, len(report.ranks))
    return WorkerReport(
        source_instance_id=report.source_instance_id,
        sequence_id=report.sequence_id,
        report_time_unix_ms=report.report_time_unix_ms or None,
        worker=WorkerInfo(
            worker_addr=report.worker.worker_addr or None,
            worker_type=_WORKER_TYPES.get(report.worker.worker_type),
            model=report.worker.model or None,
            zone=report.worker.zone or None,
        ),
        status=status,
        last_error=last_error,
        ranks=_decode_ranks(report),
        max_snapshot_age_ms=report.max_snapshot_age_ms if report.HasField("max_snapshot_age_ms") else None,
        worker_state=_WORKER_STATES.get(report.worker_state),
        active_routers=report.active_routers if report.HasField("active_routers") else None,
        receipt=receipt,
    )


def _check_presence(status: ReportStatus, last_error: str | None, ranks: int) -> None:
    if status is ReportStatus.UNREACHABLE:
        if ranks:
            raise InvalidReportError(
                DropReason.UNREACHABLE_WITH_RANKS, f"status is UNREACHABLE, yet there are {ranks} ranks", field="ranks"
            )
        if last_error is None or not last_error.strip():
            raise InvalidReportError(
                DropReason.UNREACHABLE_WITHOUT_ERROR, "status is UNREACHABLE without a last_error", field="last_error"
            )
    elif not ranks:
        raise InvalidReportError(DropReason.NO_RANKS, f"status is {status.name} without any rank", field="ranks")


def _decode_ranks(report: wire.LoadReport) -> tuple[RankLoad, ...]:
    by_rank: dict[int, RankLoad] = {}
    for rank in report.ranks:
        dp_rank = rank.dp_rank
        if dp_rank in by_rank:
            raise InvalidReportError(
                DropReason.DUPLICATE_RANK, f"dp_rank={dp_rank} is there twice", field="dp_rank", dp_rank=dp_rank
            )
        by_rank[dp_rank] = _decode_rank(rank)
    return tuple(by_rank[dp_rank] for dp_rank in sorted(by_rank))


def _decode_rank(rank: wire.RankLoad) -> RankLoad:
    """Check and convert; each field is read once, because every rank of every report passes here."""
    dp_rank = rank.dp_rank
    snapshot_time_unix_ms = rank.snapshot_time_unix_ms
    running = rank.num_running_reqs
    waiting = rank.num_waiting_reqs
    uncached = rank.num_waiting_uncached_tokens
    used = rank.num_used_tokens
    total = rank.num_total_tokens
    max_tokens = rank.max_total_num_tokens
    max_running = rank.max_running_requests
    usage = rank.token_usage
    generation = rank.gen_throughput
    hit_rate = rank.cache_hit_rate
    utilization = rank.utilization
    prefill = rank.prefill_throughput if rank.HasField("prefill_throughput") else None
    prefill_tokens = rank.prefill_uncached_tokens_total if rank.HasField("prefill_uncached_tokens_total") else None
    prefill_us = rank.prefill_busy_us_total if rank.HasField("prefill_busy_us_total") else None
    generated = rank.generated_tokens_total if rank.HasField("generated_tokens_total") else None
    clean = (
        dp_rank >= 0
        and snapshot_time_unix_ms >= 0
        and running >= 0
        and waiting >= 0
        and uncached >= 0
        and used >= 0
        and total >= 0
        and (max_tokens == 0 or used <= max_tokens)
        and (max_running == 0 or running <= max_running)
        and 0 <= usage < _INFINITY
        and 0 <= generation < _INFINITY
        and 0 <= hit_rate < _INFINITY
        and (0 <= utilization < _INFINITY or utilization == _NOT_COMPUTED)
        and (prefill is None or 0 <= prefill < _INFINITY)
        and (prefill_tokens is None or prefill_tokens >= 0)
        and (prefill_us is None or prefill_us >= 0)
        and (generated is None or generated >= 0)
    )
    if not clean:
        raise _fault(rank)
    load = RankLoad(
        dp_rank=dp_rank,
        snapshot_time_unix_ms=snapshot_time_unix_ms or None,
        num_running_reqs=running,
        num_waiting_reqs=waiting,
        num_waiting_uncached_tokens=uncached,
        num_used_tokens=used,
        num_total_tokens=total,
        max_total_num_tokens=max_tokens or None,
        max_running_requests=max_running or None,
        token_usage=usage,
        gen_throughput=generation,
        cache_hit_rate=hit_rate,
        utilization=None if utilization == _NOT_COMPUTED else utilization,
        prefill_throughput=prefill,
        prefill_uncached_tokens_total=prefill_tokens,
        prefill_busy_us_total=prefill_us,
        generated_tokens_total=generated,
    )
    return _without_unknown(rank, load) if rank.unknown_field_numbers else load


def _without_unknown(rank: wire.RankLoad, load: RankLoad) -> RankLoad:
    """Put None where the rank says that the 0 of v1 is no measurement; numbers of fields yet to be invented say nothing here."""
    unknown: dict[str, Any] = {}
    for number in rank.unknown_field_numbers:
        if number in wire.UNKNOWABLE_FIELDS:
            name = wire.UNKNOWABLE_FIELDS[number]
            if getattr(rank, name) != 0:
                raise _rank_error(rank, DropReason.NOT_UNKNOWABLE, name, "is there, yet named as unknown")
            unknown[name] = None
        elif number in _FIELDS:
            raise _rank_error(
                rank, DropReason.NOT_UNKNOWABLE, _FIELDS[number].name, "can't be unknown, yet is named so"
            )
    return replace(load, **unknown)


def _fault(rank: wire.RankLoad) -> InvalidReportError:
    """Name the first value that `_decode_rank` refused."""
    for field in _RATES:
        if not math.isfinite(getattr(rank, field)):
            return _rank_error(rank, DropReason.NOT_FINITE, field, "is not a finite number")
    for field in _NEVER_NEGATIVE:
        if getattr(rank, field) < 0 and (field, rank.utilization) != ("utilization", _NOT_COMPUTED):
            return _rank_error(rank, DropReason.NEGATIVE, field, "is negative")
    if 0 < rank.max_total_num_tokens < rank.num_used_tokens:
        fault = f"exceeds max_total_num_tokens={rank.max_total_num_tokens}"
        return _rank_error(rank, DropReason.OVER_CAPACITY, "num_used_tokens", fault)
    fault = f"exceeds max_running_requests={rank.max_running_requests}"
    return _rank_error(rank, DropReason.OVER_CAPACITY, "num_running_reqs", fault)


def _rank_error(rank: wire.RankLoad, reason: DropReason, field: str, fault: str) -> InvalidReportError:
    return InvalidReportError(
        reason,
        f"rank {rank.dp_rank}: {field}={getattr(rank, field)} {fault}",
        field=field,
        dp_rank=rank.dp_rank,
    )
