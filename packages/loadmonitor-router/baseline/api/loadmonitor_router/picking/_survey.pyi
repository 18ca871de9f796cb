from collections.abc import Iterable
from dataclasses import dataclass, field
from loadmonitor_router.age import Freshness as Freshness
from loadmonitor_router.picking.choice import Candidate as Candidate, WorkerRank as WorkerRank
from loadmonitor_router.picking.score import Load as Load, rank_load as rank_load, worker_load as worker_load
from loadmonitor_router.reports import NEVER_PICKED as NEVER_PICKED, WorkerReport as WorkerReport
from loadmonitor_router.snapshot import FleetSnapshot as FleetSnapshot, WorkerLoad as WorkerLoad
from typing import NamedTuple

class Known(NamedTuple):
    candidate: Candidate
    load: Load
    sampled_ns: int
    active_routers: int | None

class _Measured(NamedTuple):
    report: WorkerReport
    whole: Load | None
    by_rank: dict[int, Load | None]
    def of(self, candidate: Candidate) -> Load | None: ...

@dataclass(slots=True)
class Survey:
    known: list[Known] = field(default_factory=list)
    unknown: list[Candidate] = field(default_factory=list)
    lost: list[Candidate] = field(default_factory=list)
    unreachable: list[Candidate] = field(default_factory=list)
    barred: list[Candidate] = field(default_factory=list)

class Surveyor:
    def __init__(self) -> None: ...
    def survey(self, snapshot: FleetSnapshot, candidates: Iterable[Candidate]) -> Survey: ...

def why_not(snapshot: FleetSnapshot, candidate: Candidate) -> str: ...
def has_rank(report: WorkerReport, candidate: Candidate) -> bool: ...
def url_of(candidate: Candidate) -> str: ...
