"""Tries sources one after the other until one gives the weights."""

import logging
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import nullcontext
from typing import TypeVar

from p2p_selection.adjusting import InFlight
from p2p_selection.candidates import Candidate
from p2p_selection.errors import MetadataMissError, NoSourceLeftError, SettingError
from p2p_selection.interfaces import AttemptOutcome, Feedback

_log = logging.getLogger(__name__)

ResultT = TypeVar("ResultT")


async def attempt(
    candidates: Iterable[Candidate],
    pull: Callable[[Candidate], Awaitable[ResultT]],
    *,
    budget: int = 3,
    deadline_seconds: float = 300.0,
    feedback: Feedback | None = None,
    in_flight: InFlight | None = None,
    monotonic: Callable[[], float] = time.monotonic,
) -> tuple[Candidate, ResultT]:
    """Pull from the first source that gives the weights, in the given order.

    Args:
        candidates: Sources, best first; hand over more than `budget`, as those without metadata don't use it up.
        pull: Pulls from one source. It raises `MetadataMissError` when there was nothing to try.
        budget: Most pulls that may fail, above 0.
        deadline_seconds: Longest one pull may take, above 0; it is then cancelled and counts as failed.
        feedback: Is told how each attempt ended; the pipeline that chose the candidates.
        in_flight: Counts each pull while it runs.
        monotonic: Seconds, for how long an attempt took.

    Returns:
        The source and what `pull` returned.

    Raises:
        SettingError: An argument is out of range.
        NoSourceLeftError: `budget` pulls failed, or no source is left; it holds every failure.
    """
    import asyncio  # noqa: PLC0415 - whoever awaits this has it; whoever only ranks doesn't pay for it

    if budget < 1:
        raise SettingError("budget", budget, "1 or more")
    if not deadline_seconds > 0:
        raise SettingError("deadline_seconds", deadline_seconds, "more than 0")
    failures: list[tuple[Candidate, Exception]] = []
    spent = 0
    sources = list(candidates)
    for number, candidate in enumerate(sources, 1):
        started = monotonic()
        error: Exception | None = None
        deadline = asyncio.timeout(deadline_seconds)
        try:
            with nullcontext() if in_flight is None else in_flight.pulling(candidate):
                async with deadline:
                    result = await pull(candidate)
        except MetadataMissError as miss:
            outcome, error = AttemptOutcome.METADATA_MISS, miss
        except Exception as failure:  # noqa: BLE001 - whatever a transfer raises, the next source may do
            error = TimeoutError(f"not done within {deadline_seconds:g} s") if deadline.expired() else failure
            spent += 1
            last = spent == budget or number == len(sources)
            outcome = AttemptOutcome.TRANSFER_FALLBACK if last else AttemptOutcome.TRANSFER_RETRY
        else:
            outcome = AttemptOutcome.SUCCESS
        if feedback is not None:
            _tell(feedback, candidate, outcome, monotonic() - started, error)
        if error is None:
            return candidate, result
        failures.append((candidate, error))
        if spent == budget:
            break
    raise NoSourceLeftError(_account(failures, spent, budget), failures)


def _tell(
    feedback: Feedback, candidate: Candidate, outcome: AttemptOutcome, seconds: float, error: Exception | None
) -> None:
    try:
        feedback.attempted(candidate, outcome, seconds, error)
    except Exception:  # noqa: BLE001 - it is somebody else's, and no reason to lose weights that are there
        _log.exception("a feedback failed; the attempt stands")


def _account(failures: list[tuple[Candidate, Exception]], spent: int, budget: int) -> str:
    if not failures:
        return "there is no source to pull from"
    ends = "; ".join(f"{candidate.worker_id}: {type(error).__name__}: {error}" for candidate, error in failures)
    left = "the budget is used up" if spent == budget else "no source is left"
    return f"{spent} of at most {budget} pulls failed and {left}: {ends}"
