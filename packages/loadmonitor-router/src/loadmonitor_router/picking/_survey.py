"""What may be picked, and on what grounds."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from loadmonitor_router.age import Freshness
from loadmonitor_router.picking.choice import Candidate, WorkerRank
from loadmonitor_router.picking.score import Load, rank_load, worker_load
from loadmonitor_router.reports import NEVER_PICKED, WorkerReport
from loadmonitor_router.snapshot import FleetSnapshot, WorkerLoad

_NS_PER_MS = 1_000_000


class Known(NamedTuple):
    """A candidate whose load may be acted upon."""

    candidate: Candidate
    load: Load
    sampled_ns: int
    active_routers: int | None


class _Measured(NamedTuple):
    report: WorkerReport
    whole: Load | None
    by_rank: dict[int, Load | None]

    def of(self, candidate: Candidate) -> Load | None:
        return self.by_rank.get(candidate.dp_rank) if isinstance(candidate, WorkerRank) else self.whole


@dataclass(slots=True)
class Survey:
    """The candidates by what is known of them.

    Attributes:
        known: Fresh.
        unknown: Never heard of, or no valid report so far: neither idle nor full.
        lost: Heard of once; stale now, or the connection is lost.
        unreachable: The reporter says that it can't reach its engine.
        barred: Never to be picked.
    """

    known: list[Known] = field(default_factory=list)
    unknown: list[Candidate] = field(default_factory=list)
    lost: list[Candidate] = field(default_factory=list)
    unreachable: list[Candidate] = field(default_factory=list)
    barred: list[Candidate] = field(default_factory=list)


class Surveyor:
    """Sorts candidates; remembers what a report comes to, so that each is worked out once and not for every pick."""

    def __init__(self) -> None:
        """Start with nothing worked out."""
        self._measured: dict[str, _Measured] = {}

    def survey(self, snapshot: FleetSnapshot, candidates: Iterable[Candidate]) -> Survey:
        """Sort the candidates; one that is named twice counts once."""
        workers = snapshot.workers
        if len(self._measured) > len(workers):
            self._measured = {url: measured for url, measured in self._measured.items() if url in workers}
        found = Survey()
        for candidate in dict.fromkeys(candidates):
            worker = workers.get(url_of(candidate))
            if worker is None:
                found.unknown.append(candidate)
                continue
            report = worker.report
            if not worker.takes_requests:
                found.barred.append(candidate)
            elif worker.freshness is Freshness.FRESH and report is not None and worker.age_ms is not None:
                load = self._measure(worker.target.url, report).of(candidate)
                if load is not None:
                    sampled_ns = snapshot.taken_ns - int(worker.age_ms * _NS_PER_MS)
                    found.known.append(Known(candidate, load, sampled_ns, report.active_routers))
                elif has_rank(report, candidate):
                    found.unknown.append(candidate)
                else:
                    found.barred.append(candidate)
            elif worker.freshness is Freshness.UNREACHABLE:
                found.unreachable.append(candidate)
            elif _never_reported(worker):
                found.unknown.append(candidate)
            else:
                found.lost.append(candidate)
        return found

    def _measure(self, url: str, report: WorkerReport) -> _Measured:
        measured = self._measured.get(url)
        if measured is None or measured.report is not report:
            by_rank = {rank.dp_rank: rank_load(rank) for rank in report.ranks}
            measured = self._measured[url] = _Measured(report, worker_load(report), by_rank)
        return measured


def _never_reported(worker: WorkerLoad) -> bool:
    connection = worker.connection
    return worker.freshness is Freshness.MISSING and connection.received == sum(connection.dropped.values())


def why_not(snapshot: FleetSnapshot, candidate: Candidate) -> str:
    """Say, for people, what keeps a candidate from being picked on its load."""
    worker = snapshot.workers.get(url_of(candidate))
    if worker is None:
        return "not in the snapshot"
    if worker.worker_state in NEVER_PICKED:
        return f"its engine is {worker.worker_state.name}" if worker.report is not None else "it left, DRAINING"
    if worker.freshness is not Freshness.FRESH or worker.report is None:
        return f"{worker.freshness}: {worker.reason}"
    if not has_rank(worker.report, candidate):
        return f"its Worker has the ranks {', '.join(str(rank.dp_rank) for rank in worker.report.ranks)}"
    return "fresh, but how many requests may run at once isn't published"


def has_rank(report: WorkerReport, candidate: Candidate) -> bool:
    """Return whether the candidate is a Worker, or a rank that its Worker reports."""
    return not isinstance(candidate, WorkerRank) or any(rank.dp_rank == candidate.dp_rank for rank in report.ranks)


def url_of(candidate: Candidate) -> str:
    """Return the url of a candidate's Worker."""
    return candidate.url if isinstance(candidate, WorkerRank) else candidate
