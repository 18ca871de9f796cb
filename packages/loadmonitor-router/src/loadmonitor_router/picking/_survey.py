"""What may be picked, and on what grounds."""

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from loadmonitor_router.age import Freshness
from loadmonitor_router.picking.choice import Candidate, WorkerRank
from loadmonitor_router.picking.score import Load, rank_load, worker_load
from loadmonitor_router.reports import WorkerReport, WorkerState
from loadmonitor_router.snapshot import FleetSnapshot, WorkerLoad

_CLOSED = frozenset({WorkerState.LOADING, WorkerState.DRAINING, WorkerState.PAUSED})
_NS_PER_MS = 1_000_000


class Known(NamedTuple):
    """A candidate whose load may be acted upon."""

    candidate: Candidate
    load: Load
    sampled_ns: int
    active_routers: int | None


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


def survey(snapshot: FleetSnapshot, candidates: Iterable[Candidate]) -> Survey:
    """Sort the candidates; one that is named twice counts once."""
    found = Survey()
    for candidate in dict.fromkeys(candidates):
        worker = snapshot.workers.get(url_of(candidate))
        if worker is None:
            found.unknown.append(candidate)
        elif worker.worker_state in _CLOSED:
            found.barred.append(candidate)
        elif worker.freshness is Freshness.UNREACHABLE:
            found.unreachable.append(candidate)
        elif worker.freshness is Freshness.FRESH and worker.report is not None and worker.age_ms is not None:
            _sort_fresh(found, candidate, worker.report, snapshot.taken_ns - int(worker.age_ms * _NS_PER_MS))
        elif _never_reported(worker):
            found.unknown.append(candidate)
        else:
            found.lost.append(candidate)
    return found


def _sort_fresh(found: Survey, candidate: Candidate, report: WorkerReport, sampled_ns: int) -> None:
    if isinstance(candidate, WorkerRank):
        index = bisect_left(report.ranks, candidate.dp_rank, key=lambda rank: rank.dp_rank)
        if index == len(report.ranks) or report.ranks[index].dp_rank != candidate.dp_rank:
            found.barred.append(candidate)
            return
        load = rank_load(report.ranks[index])
    else:
        load = worker_load(report)
    if load is None:
        found.unknown.append(candidate)
    else:
        found.known.append(Known(candidate, load, sampled_ns, report.active_routers))


def _never_reported(worker: WorkerLoad) -> bool:
    connection = worker.connection
    return worker.freshness is Freshness.MISSING and connection.received == sum(connection.dropped.values())


def why_not(snapshot: FleetSnapshot, candidate: Candidate) -> str:
    """Say, for people, what keeps a candidate from being picked on its load."""
    worker = snapshot.workers.get(url_of(candidate))
    if worker is None:
        return "not in the snapshot"
    if worker.worker_state in _CLOSED:
        return f"its engine is {worker.worker_state.name}"
    if worker.freshness is not Freshness.FRESH or worker.report is None:
        return f"{worker.freshness}: {worker.reason}"
    ranks = [rank.dp_rank for rank in worker.report.ranks]
    if isinstance(candidate, WorkerRank) and candidate.dp_rank not in ranks:
        return f"its Worker has the ranks {', '.join(map(str, ranks))}"
    return "fresh, but how many requests may run at once isn't published"


def url_of(candidate: Candidate) -> str:
    """Return the url of a candidate's Worker."""
    return candidate.url if isinstance(candidate, WorkerRank) else candidate
