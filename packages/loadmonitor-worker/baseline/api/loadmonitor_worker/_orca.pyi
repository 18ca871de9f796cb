from loadmonitor_worker._verdict import Attempt as Attempt, ReportStatus as ReportStatus, Verdict as Verdict
from loadmonitor_worker.snapshot import RankSnapshot as RankSnapshot
from loadmonitor_worker.state import WorkerState as WorkerState
from typing import Final

LEAST_UTILIZATION: Final[float]
AVOIDED_UTILIZATION: Final[float]
REQUESTS_PER_SECOND: Final[float]

def granted_interval_ns(request: bytes, *, least_ms: int) -> int: ...
def orca_report(attempt: Attempt, verdict: Verdict, *, sequence_id: int, worker_state: WorkerState | None) -> bytes: ...
