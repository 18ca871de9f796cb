"""How loaded a Worker or a rank is, as one number.

    rank    = ½ · (num_running_reqs + num_waiting_reqs) / max_running_requests + ½ · token_usage
    Worker  = its most loaded rank

A rank that doesn't tell its `token_usage` is not taken for empty: it counts with min(1, requests / max_running_requests) instead, so
what it holds is judged by its requests alone. Its tokens waiting don't matter here, known or not.

0 is idle; 1 is every request slot and every KV token in use; a queue goes beyond. A Worker counts as its most loaded rank,
because a mean hides one long queue beside idle ranks, and any request may land there.

Each request that the numbers don't contain yet adds ½ · 1 / max_running_requests, at a Worker over all its ranks together.
"""

from typing import NamedTuple

from loadmonitor_router.reports import RankLoad, WorkerReport


class Load(NamedTuple):
    """What one candidate's numbers come to.

    Attributes:
        score: By the formula above.
        requests: Running and waiting.
        slots: Requests that may run at once; above 0.
    """

    score: float
    requests: float
    slots: float

    def score_with(self, requests: float) -> float:
        """Return the score with so many requests more."""
        return self.score + requests / (2 * self.slots)


def rank_load(rank: RankLoad) -> Load | None:
    """Return a rank's load, or None when it hasn't published how many requests may run at once."""
    slots = rank.max_running_requests
    if not slots:
        return None
    requests = rank.num_running_reqs + rank.num_waiting_reqs
    share = requests / slots
    usage = min(1.0, share) if rank.token_usage is None else rank.token_usage
    return Load((share + usage) / 2, requests, slots)


def worker_load(report: WorkerReport) -> Load | None:
    """Return a Worker's load, or None when it has no ranks or one of them has no known load."""
    score = 0.0
    requests = slots = 0.0
    for rank in report.ranks:
        load = rank_load(rank)
        if load is None:
            return None
        score = max(score, load.score)
        requests += load.requests
        slots += load.slots
    return Load(score, requests, slots) if slots else None
