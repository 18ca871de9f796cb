from loadmonitor_router.reports import RankLoad as RankLoad, WorkerReport as WorkerReport
from typing import NamedTuple

class Load(NamedTuple):
    score: float
    requests: float
    slots: float
    def score_with(self, requests: float) -> float: ...

def rank_load(rank: RankLoad) -> Load | None: ...
def worker_load(report: WorkerReport) -> Load | None: ...
