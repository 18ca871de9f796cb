"""Choosing the Worker, or the rank, that a request goes to; pure, with time and chance passed in.

    picker = LeastLoaded()
    choice = picker.pick(snapshot, ["http://10.0.0.1:30000", "http://10.0.0.2:30000"])
    ...  # send the request to choice.url
    picker.in_flight.finished(choice.ticket)

Who is considered, whatever the policy:

- A Worker whose engine is LOADING, DRAINING or PAUSED, never; nor one that was lost after it had told DRAINING.
- If any candidate is fresh: the fresh ones, by their score, and those that haven't reported yet, as if loaded like the
  mean of the fresh ones (`unknown_score`). What is stale, lost or unreachable waits: idle when last seen is no argument.
- If none is fresh, `when_none_fresh` decides. "fail_open" sends to whom this router has the fewest picks under way, equal
  ones at random: before the first report that is an even spread. An unreachable engine is taken only when there is
  nothing else.
"""

from loadmonitor_router.picking.choice import Candidate, Choice, Picker, WorkerRank
from loadmonitor_router.picking.inflight import (
    DEFAULT_DISPATCH_MS,
    DEFAULT_FORGET_AFTER_SECONDS,
    InFlight,
    Ticket,
)
from loadmonitor_router.picking.policies import LeastLoaded, PowerOfTwoChoices, WeightedRandom
from loadmonitor_router.picking.score import Load, rank_load, worker_load

__all__ = [
    "DEFAULT_DISPATCH_MS",
    "DEFAULT_FORGET_AFTER_SECONDS",
    "Candidate",
    "Choice",
    "InFlight",
    "LeastLoaded",
    "Load",
    "Picker",
    "PowerOfTwoChoices",
    "Ticket",
    "WeightedRandom",
    "WorkerRank",
    "rank_load",
    "worker_load",
]
