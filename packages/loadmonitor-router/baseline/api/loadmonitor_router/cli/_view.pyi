from collections.abc import Callable as Callable
from dataclasses import dataclass
from loadmonitor_router.age import Assessment as Assessment, DEFAULT_FRESHNESS_MS as DEFAULT_FRESHNESS_MS, Freshness as Freshness, assess as assess, rank_age_ms as rank_age_ms
from loadmonitor_router.cli._flags import in_flags as in_flags
from loadmonitor_router.connection import Connection as Connection, ConnectionState as ConnectionState
from loadmonitor_router.interfaces import Clock as Clock
from loadmonitor_router.reports import NEVER_PICKED as NEVER_PICKED, RankLoad as RankLoad, WorkerReport as WorkerReport

@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerView:
    worker: str
    connection: Connection
    report: WorkerReport | None
    assessment: Assessment
    now_ns: int
    unix_ms: int

@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    worker: str
    rank: str
    status: Freshness
    age_ms: float | None = ...
    running: int | None = ...
    waiting: int | None = ...
    uncached: int | None = ...
    usage: float | None = ...
    generated: float | None = ...
    reason: str | None = ...

def view(worker: str, connection: Connection, report: WorkerReport | None, clock: Clock) -> WorkerView: ...
def rows(shown: WorkerView) -> list[Row]: ...
