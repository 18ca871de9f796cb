from dataclasses import dataclass
from loadmonitor_router.age import Freshness as Freshness, own_age_ms as own_age_ms
from loadmonitor_router.connection import Connection as Connection, ConnectionState as ConnectionState
from loadmonitor_router.reports import NEVER_PICKED as NEVER_PICKED, RankLoad as RankLoad, ReportStatus as ReportStatus, WorkerReport as WorkerReport
from loadmonitor_router.snapshot import WorkerLoad as WorkerLoad

@dataclass(frozen=True, slots=True, kw_only=True)
class Hop:
    name: str
    ok: bool | None
    text: str

@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    url: str
    included: bool
    hops: tuple[Hop, ...]
    @property
    def reason(self) -> str | None: ...

def explain(load: WorkerLoad, now_ns: int) -> Explanation: ...
