from dataclasses import dataclass
from enum import StrEnum

class ReportStatus(StrEnum):
    HEALTHY = 'REPORT_STATUS_HEALTHY'
    STALE = 'REPORT_STATUS_STALE'
    UNREACHABLE = 'REPORT_STATUS_UNREACHABLE'

class WorkerType(StrEnum):
    REGULAR = 'WORKER_TYPE_REGULAR'
    PREFILL = 'WORKER_TYPE_PREFILL'
    DECODE = 'WORKER_TYPE_DECODE'

class WorkerState(StrEnum):
    LOADING = 'WORKER_STATE_LOADING'
    SERVING = 'WORKER_STATE_SERVING'
    DRAINING = 'WORKER_STATE_DRAINING'
    PAUSED = 'WORKER_STATE_PAUSED'

NEVER_PICKED: frozenset[WorkerState]

@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerInfo:
    worker_addr: str | None
    worker_type: WorkerType | None
    model: str | None
    zone: str | None

@dataclass(frozen=True, slots=True, kw_only=True)
class RankLoad:
    dp_rank: int
    snapshot_time_unix_ms: int | None
    num_running_reqs: int
    num_waiting_reqs: int
    num_waiting_uncached_tokens: int | None
    num_used_tokens: int | None
    num_total_tokens: int | None
    max_total_num_tokens: int | None
    max_running_requests: int | None
    token_usage: float | None
    gen_throughput: float | None
    cache_hit_rate: float | None
    utilization: float | None
    prefill_throughput: float | None
    prefill_uncached_tokens_total: int | None
    prefill_busy_us_total: int | None
    generated_tokens_total: int | None

@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    monotonic_ns: int
    delay_ms: float | None

@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerReport:
    source_instance_id: str
    sequence_id: int
    report_time_unix_ms: int | None
    worker: WorkerInfo
    status: ReportStatus
    last_error: str | None
    ranks: tuple[RankLoad, ...]
    max_snapshot_age_ms: int | None
    worker_state: WorkerState | None
    active_routers: int | None
    receipt: Receipt
