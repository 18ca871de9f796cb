"""Tries sources one after the other until one gives the weights."""

from collections.abc import Awaitable, Callable, Iterable
from contextlib import nullcontext
from typing import Protocol, TypeVar

from p2p_selection.adjusting import InFlight
from p2p_selection.candidates import Candidate
from p2p_selection.errors import MetadataMissError, NoSourceLeftError, SettingError

ResultT = TypeVar("ResultT")


class Feedback(Protocol):
    """Learns how pulls ended; a `SelectionPipeline` does."""

    def report_failure(self, candidate: Candidate) -> None:
        """A pull from the candidate failed, or took too long."""
        ...

    def report_success(self, candidate: Candidate) -> None:
        """A pull from the candidate gave the weights."""
        ...


async def attempt(
    candidates: Iterable[Candidate],
    pull: Callable[[Candidate], Awaitable[ResultT]],
    *,
    budget: int = 3,
    deadline_seconds: float = 300.0,
    feedback: Feedback | None = None,
    in_flight: InFlight | None = None,
) -> tuple[Candidate, ResultT]:
    """Pull from the first source that gives the weights, in the given order.

    Args:
        candidates: Sources, best first; hand over more than `budget`, as those without metadata don't use it up.
        pull: Pulls from one source. It raises `MetadataMissError` when there was nothing to try.
        budget: Most pulls that may fail, above 0.
        deadline_seconds: Longest one pull may take, above 0; it is then cancelled and counts as failed.
        feedback: Is told of each pull that failed or succeeded.
        in_flight: Counts each pull while it runs.

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
    for candidate in candidates:
        try:
            with nullcontext() if in_flight is None else in_flight.pulling(candidate):
                async with asyncio.timeout(deadline_seconds):
                    result = await pull(candidate)
        except MetadataMissError as error:
            failures.append((candidate, error))
            continue
        except Exception as error:  # noqa: BLE001 - whatever a transfer raises, the next source may do
            failures.append((candidate, error))
            if feedback is not None:
                feedback.report_failure(candidate)
            spent += 1
            if spent == budget:
                break
        else:
            if feedback is not None:
                feedback.report_success(candidate)
            return candidate, result
    raise NoSourceLeftError(_account(failures, spent, budget), failures)


def _account(failures: list[tuple[Candidate, Exception]], spent: int, budget: int) -> str:
    if not failures:
        return "there is no source to pull from"
    ends = "; ".join(f"{candidate.worker_id}: {type(error).__name__}: {error}" for candidate, error in failures)
    left = "the budget is used up" if spent == budget else "no source is left"
    return f"{spent} of at most {budget} pulls failed and {left}: {ends}"
