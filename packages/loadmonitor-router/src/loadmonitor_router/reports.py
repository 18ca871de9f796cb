"""One Worker's load as a Router may use it: validated, immutable, and unknown where the Worker doesn't say.

The fields carry the wire's names. What the wire writes as 0 or -1 for lack of a better way, or names as unknown, is None here:
0 means "measured, and it is zero". Only a Worker of the contract's first version can't tell the two apart in a count or a ratio.
"""

from dataclasses import dataclass
from enum import StrEnum


class ReportStatus(StrEnum):
    """What the Worker's one attempt to read its engine came to; the values are the wire's names."""

    HEALTHY = "REPORT_STATUS_HEALTHY"
    """Every rank present and recent."""
    STALE = "REPORT_STATUS_STALE"
    """Every rank present, at least one too old to act upon."""
    UNREACHABLE = "REPORT_STATUS_UNREACHABLE"
    """No complete set of ranks could be read."""


class WorkerType(StrEnum):
    """What the engine serves; the values are the wire's names."""

    REGULAR = "WORKER_TYPE_REGULAR"
    PREFILL = "WORKER_TYPE_PREFILL"
    DECODE = "WORKER_TYPE_DECODE"


class WorkerState(StrEnum):
    """Where the engine stands in its life; the values are the wire's names."""

    LOADING = "WORKER_STATE_LOADING"
    SERVING = "WORKER_STATE_SERVING"
    DRAINING = "WORKER_STATE_DRAINING"
    PAUSED = "WORKER_STATE_PAUSED"


NEVER_PICKED: frozenset[WorkerState] = frozenset({WorkerState.LOADING, WorkerState.DRAINING, WorkerState.PAUSED})
"""States in which an engine gets no new request, however fresh its load."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerInfo:
    """How the Worker describes itself; not an identity to trust, the Router knows whom it dialled.

    Attributes:
        worker_addr: Where requests reach the engine, or None.
        worker_type: What the engine serves, or None.
        model: Name of the served model, or None.
        zone: Placement label, or None.
    """

    worker_addr: str | None
    worker_type: WorkerType | None
    model: str | None
    zone: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RankLoad:
    """The scheduler load of one data-parallel rank; None is what its Worker doesn't know.

    Attributes:
        dp_rank: Data-parallel rank, from 0.
        snapshot_time_unix_ms: When the engine took these numbers, on its own clock; None when it doesn't say.
        num_running_reqs: Requests in the running batch.
        num_waiting_reqs: Requests in the waiting queue.
        num_waiting_uncached_tokens: Prompt tokens waiting whose KV isn't cached, or None.
        num_used_tokens: KV tokens in use, or None.
        num_total_tokens: Tokens in use plus tokens waiting, in the engine's own count, or None.
        max_total_num_tokens: KV capacity in tokens; None when the engine hasn't published it.
        max_running_requests: Most requests that may run at once; None when the engine hasn't published it.
        token_usage: The engine's own ratio, 0 to 1: the fullest of its pools, so it may exceed used / max; or None.
        gen_throughput: Generated tokens per second, or None.
        cache_hit_rate: Prefix cache hits, as the engine counts them, or None.
        utilization: The engine's own ratio; None where the engine doesn't compute it.
        prefill_throughput: Uncached prompt tokens per second, or None.
        prefill_uncached_tokens_total: Uncached prompt tokens since the engine started, or None.
        prefill_busy_us_total: Microseconds spent in prefill since the engine started, or None.
        generated_tokens_total: Tokens generated since the engine started, or None.
    """

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
    """How a report arrived.

    Attributes:
        monotonic_ns: When this process read the report, on the client's monotonic clock.
        delay_ms: The most time that can lie between the Worker building the report and `monotonic_ns`; None when
            nothing bounds it, and then nothing about the report may be called fresh.
    """

    monotonic_ns: int
    delay_ms: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerReport:
    """One report of one Worker.

    Attributes:
        source_instance_id: New for every start of the reporter.
        sequence_id: Strictly increasing within a source instance; reports in between may have been skipped.
        report_time_unix_ms: When the report was built, on the Worker's clock, or None.
        worker: How the Worker describes itself.
        status: What the attempt came to.
        last_error: Why the report isn't HEALTHY, or None.
        ranks: Every rank, sorted by `dp_rank`; empty when UNREACHABLE.
        max_snapshot_age_ms: Age of the oldest rank when the report was built, by the Worker's own reckoning, or None.
        worker_state: Where the engine stands in its life, or None.
        active_routers: Routers registered at this Worker, or None.
        receipt: How the report arrived.
    """

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
