"""Build a report from a verdict and encode it, once for all who receive it."""

from operator import attrgetter

from loadmonitor_proto import (
    UNKNOWABLE_FIELDS,
    LoadReport,
    RankLoad,
    RegisterResponse,
    StreamError,
    Worker,
    WorkerFrame,
    WorkerType,
)
from loadmonitor_proto import ReportStatus as WireStatus
from loadmonitor_proto import WorkerState as WireState
from loadmonitor_worker._verdict import Attempt, Verdict
from loadmonitor_worker.config import ReporterConfig
from loadmonitor_worker.errors import ConfigError
from loadmonitor_worker.snapshot import RankSnapshot
from loadmonitor_worker.state import WorkerState

_LONGEST_ERROR = 1_000
_unknowable = attrgetter(*UNKNOWABLE_FIELDS.values())
_WIRE_STATES = {state: WireState.Value(f"WORKER_STATE_{state.name}") for state in WorkerState}


class ReportBuilder:
    """Turns attempts into encoded WorkerFrames, numbered from 1 under one source instance id.

    Attributes:
        worker_state: What reports say of the engine's state; None says nothing.

    Raises:
        ConfigError: A text of the configuration can't be sent, such as one with a lone surrogate.
    """

    def __init__(self, config: ReporterConfig, source_instance_id: str) -> None:
        self.source_instance_id = source_instance_id
        self.sequence_id = 0
        self.worker_state: WorkerState | None = None
        try:
            self._worker = Worker(
                worker_addr=config.worker_addr,
                worker_type=WorkerType.Value(f"WORKER_TYPE_{config.worker_type.name}"),
                model=config.model,
                zone=config.zone,
            )
        except (TypeError, ValueError) as exc:
            raise ConfigError(f"worker_addr, model and zone must be text that UTF-8 can carry: {exc}") from exc

    def build(self, attempt: Attempt, verdict: Verdict, *, now_unix_ms: int, active_routers: int) -> bytes:
        """Return the next report as an encoded WorkerFrame."""
        self.sequence_id += 1
        error = verdict.last_error
        if error is not None:
            error = error.encode(errors="replace").decode()[:_LONGEST_ERROR]
        report = LoadReport(
            source_instance_id=self.source_instance_id,
            sequence_id=self.sequence_id,
            report_time_unix_ms=now_unix_ms,
            worker=self._worker,
            status=WireStatus.Value(f"REPORT_STATUS_{verdict.status}"),
            last_error=error,
            ranks=[_rank_load(rank) for rank in attempt.ranks],
            max_snapshot_age_ms=verdict.max_snapshot_age_ms,
            worker_state=None if self.worker_state is None else _WIRE_STATES[self.worker_state],
            active_routers=active_routers,
        )
        return WorkerFrame(report=report).SerializeToString()


def acknowledgement_frame(
    config: ReporterConfig, source_instance_id: str, *, report_interval_ms: int, lease_ttl_ms: int
) -> bytes:
    """Return the encoded `registered` frame: what was granted, and the limits that later changes meet too."""
    return WorkerFrame(
        registered=RegisterResponse(
            lease_ttl_ms=lease_ttl_ms,
            renew_after_ms=max(1, lease_ttl_ms // 3),
            report_interval_ms=report_interval_ms,
            stale_after_ms=config.stale_after_ms,
            source_instance_id=source_instance_id,
            min_report_interval_ms=config.min_report_interval_ms,
            max_lease_ttl_ms=config.max_lease_ttl_ms,
        )
    ).SerializeToString()


def error_frame(code: str, message: str) -> bytes:
    """Return an encoded `error` frame, the last one of its stream."""
    return WorkerFrame(error=StreamError(code=code, message=message)).SerializeToString()


def _rank_load(rank: RankSnapshot) -> RankLoad:
    # A field of the first version that is 0 is not sent at all, and so is one that is unknown: its number tells them apart.
    load = RankLoad(
        dp_rank=rank.dp_rank,
        snapshot_time_unix_ms=rank.snapshot_time_unix_ms or 0,
        num_running_reqs=rank.num_running_reqs,
        num_waiting_reqs=rank.num_waiting_reqs,
        num_waiting_uncached_tokens=rank.num_waiting_uncached_tokens or 0,
        num_used_tokens=rank.num_used_tokens or 0,
        num_total_tokens=rank.num_total_tokens or 0,
        max_total_num_tokens=rank.max_total_num_tokens,
        max_running_requests=rank.max_running_requests,
        token_usage=rank.token_usage or 0,
        gen_throughput=rank.gen_throughput or 0,
        cache_hit_rate=rank.cache_hit_rate or 0,
        utilization=rank.utilization,
        prefill_throughput=rank.prefill_throughput,
        prefill_uncached_tokens_total=rank.prefill_uncached_tokens_total,
        prefill_busy_us_total=rank.prefill_busy_us_total,
        generated_tokens_total=rank.generated_tokens_total,
    )
    values = _unknowable(rank)
    if None in values:
        numbers = (number for number, value in zip(UNKNOWABLE_FIELDS, values, strict=True) if value is None)
        load.unknown_field_numbers.extend(numbers)
    return load
