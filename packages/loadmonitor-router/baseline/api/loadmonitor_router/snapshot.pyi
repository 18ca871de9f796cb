from _typeshed import Incomplete
from collections.abc import Mapping
from dataclasses import dataclass, field
from loadmonitor_router.age import Freshness as Freshness
from loadmonitor_router.connection import Connection as Connection
from loadmonitor_router.reports import NEVER_PICKED as NEVER_PICKED, WorkerReport as WorkerReport, WorkerState as WorkerState, WorkerType as WorkerType

@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerTarget:
    url: str
    reporter: str
    worker_type: WorkerType = ...

@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerAggregate:
    num_running_reqs: int
    num_waiting_reqs: int
    max_waiting_reqs: int
    waiting_spread: int
    num_waiting_uncached_tokens: int | None
    num_used_tokens: int | None
    max_total_num_tokens: int | None
    max_running_requests: int | None
    token_usage: float | None
    max_token_usage: float | None
    gen_throughput: float | None
    queue_pressure_seconds: float | None

@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerLoad:
    target: WorkerTarget
    freshness: Freshness
    reason: str | None
    age_ms: float | None
    receipt_age_ms: float | None
    report: WorkerReport | None
    aggregate: WorkerAggregate | None
    queue_pressure_seconds: Mapping[int, float | None]
    connection: Connection
    left_draining: bool = ...
    @property
    def worker_state(self) -> WorkerState | None: ...
    @property
    def takes_requests(self) -> bool: ...

@dataclass(frozen=True, slots=True, kw_only=True)
class FleetSnapshot:
    version: int
    taken_ns: int
    workers: Mapping[str, WorkerLoad] = field(default_factory=Incomplete)
    def fresh_load(self, url: str) -> WorkerLoad | None: ...
