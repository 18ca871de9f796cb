"""What was left behind at a router, found in what it lists and in its records of jobs; pure."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from router_lifecycle.dialects import Dialect
from router_lifecycle.models import Worker, WorkerRow, ranks_missing
from router_lifecycle.observation import Observation

Leftover: TypeAlias = Literal["ghost", "failed job", "open job", "spellings", "not routable", "missing ranks", "unread"]
"""What can be found: a worker that came back or may come, a job that failed, one that runs, several spellings of one origin, an entry
without traffic, ranks that aren't listed, or something that could not be read."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that a person should look at.

    Attributes:
        kind: What it is.
        worker_url: The worker.
        seen: What the router shows.
        advice: What to do.
    """

    kind: Leftover
    worker_url: str
    seen: str
    advice: str


def diagnose(
    dialect: Dialect,
    workers: Iterable[Worker],
    observations: Mapping[str, Observation],
    *,
    removed: frozenset[str] = frozenset(),
) -> list[Finding]:
    """Return what was left behind.

    Args:
        dialect: What the router speaks.
        workers: All that it lists.
        observations: A look at each worker of interest, by URL; those that aren't listed may still have a job.
        removed: URLs that were removed, so that whatever is there is a ghost.
    """
    listed = {worker.url: worker for worker in workers}
    found: list[Finding] = []
    for url, worker in listed.items():
        if url in removed:
            found.append(
                Finding(
                    "ghost", url, "listed, though it was removed", "remove it again; give the handle of the removal"
                )
            )
        found += _of_entries(dialect, worker)
    for url, seen in observations.items():
        found += _of_job(url, seen, is_listed=url in listed)
    return found


def _of_entries(dialect: Dialect, worker: Worker) -> Iterator[Finding]:
    spellings = sorted({_origin(row) for row in worker.rows})
    if len(spellings) > 1:
        yield Finding(
            "spellings",
            worker.url,
            f"one worker, listed as {', '.join(spellings)}: it gets that many shares of the traffic",
            f"keep {worker.url}; delete the other entries by their ids: {_ids(worker)}",
        )
    if ranks_missing(worker.rows):
        yield Finding(
            "missing ranks",
            worker.url,
            f"ranks {', '.join(map(str, worker.ranks))} are listed, fewer than it has",
            "wait; if it stays so, remove it with the handle of its registration and register it again",
        )
    for row in worker.rows:
        if not row.is_routable and dialect.names_listed_health:
            status = (
                f"status {row.status}" if row.status else "not healthy" if row.is_healthy is False else "health unknown"
            )
            yield Finding(
                "not routable",
                row.url,
                f"{status} (id {row.id or '-'}): gets no requests",
                "look at its /health; if it is gone for good, remove it",
            )


def _of_job(url: str, seen: Observation, *, is_listed: bool) -> Iterator[Finding]:
    for fault in seen.faults:
        yield Finding("unread", url, fault, "look again")
    job = seen.job
    if job is None:
        return
    if job.is_failed:
        if job.adds and is_listed:
            advice = (
                "an entry that is healthy serves all the same; one that isn't: remove it before it is registered again"
            )
        elif job.adds:
            advice = "mend the cause and register it again"
        else:
            advice = "do it again"
        yield Finding("failed job", url, str(job), advice)
    elif job.adds and not is_listed:
        yield Finding(
            "ghost",
            url,
            f"{job}, not listed: it may become routable at any moment",
            "remove it with its handle, or wait",
        )
    else:
        yield Finding("open job", url, str(job), "wait until it has ended, then look again")


def _origin(row: WorkerRow) -> str:
    return row.url if row.rank is None else row.url.rpartition("@")[0]


def _ids(worker: Worker) -> str:
    return ", ".join(f"{row.id or '-'} ({row.url})" for row in worker.rows)
