from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from loadmonitor_worker._validate import name_ranks as name_ranks
from loadmonitor_worker.snapshot import RankSnapshot as RankSnapshot

FUTURE_TOLERANCE_MS: int

class ReportStatus(StrEnum):
    HEALTHY = 'HEALTHY'
    STALE = 'STALE'
    UNREACHABLE = 'UNREACHABLE'

@dataclass(frozen=True, slots=True)
class Attempt:
    ranks: Sequence[RankSnapshot] = ...
    error: str | None = ...
    clamped: int = ...

@dataclass(frozen=True, slots=True)
class Verdict:
    status: ReportStatus
    last_error: str | None
    max_snapshot_age_ms: int | None

def judge(attempt: Attempt, *, now_unix_ms: int, stale_after_ms: int) -> Verdict: ...
