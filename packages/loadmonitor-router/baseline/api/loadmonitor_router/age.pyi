from dataclasses import dataclass
from enum import StrEnum
from loadmonitor_router.reports import RankLoad as RankLoad, ReportStatus as ReportStatus, WorkerReport as WorkerReport

DEFAULT_FRESHNESS_MS: int

class Freshness(StrEnum):
    FRESH = 'fresh'
    STALE = 'stale'
    UNREACHABLE = 'unreachable'
    MISSING = 'missing'

@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    freshness: Freshness
    age_ms: float | None
    reason: str | None

def own_age_ms(report: WorkerReport) -> float | None: ...
def age_ms(report: WorkerReport, now_ns: int) -> float | None: ...
def rank_age_ms(report: WorkerReport, rank: RankLoad, now_ns: int) -> float | None: ...
def assess(report: WorkerReport | None, now_ns: int, freshness_ms: float = ...) -> Assessment: ...
