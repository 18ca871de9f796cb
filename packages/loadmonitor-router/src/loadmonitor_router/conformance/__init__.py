"""The conformance kit: judges any Worker by the clauses of the stream, from outside, over the wire.

    async for result in check_worker("127.0.0.1:50061"):
        print(result.clause, result.outcome, result.received)

The command is `loadmonitor conformance HOST:PORT`. `CHECKS` says of each clause what is expected and how it is tested.
"""

from loadmonitor_router.conformance.results import Check, ClauseResult, Outcome
from loadmonitor_router.conformance.run import CHECKS, check_worker

__all__ = ["CHECKS", "Check", "ClauseResult", "Outcome", "check_worker"]
