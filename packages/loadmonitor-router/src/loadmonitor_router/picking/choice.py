"""What a pick is asked for, and what it answers."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

from loadmonitor_router.picking.inflight import Ticket
from loadmonitor_router.snapshot import FleetSnapshot


class WorkerRank(NamedTuple):
    """One data-parallel rank of a Worker, as a candidate.

    Attributes:
        url: The Worker's `WorkerTarget.url`.
        dp_rank: Data-parallel rank, from 0, in the engine's own numbering.
    """

    url: str
    dp_rank: int

    def __str__(self) -> str:
        """Return `url@rank`, as SGLang writes it."""
        return f"{self.url}@{self.dp_rank}"


Candidate: TypeAlias = str | WorkerRank
"""A Worker as a whole, by its url, whose engine chooses the rank; or one of its ranks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Where one request goes, and why.

    Attributes:
        url: The Worker.
        dp_rank: The rank, when the candidate was a `WorkerRank`; None leaves it to the engine.
        score: The load it was chosen at, this request not included; 0 is idle, 1 is full, a queue goes beyond. None when
            no candidate's load is known.
        reason: Why this one, for people.
        fail_open: No candidate was fresh, so no load was looked at.
        ticket: The pick in the picker's `InFlight`; hand it to `InFlight.finished` once the request is over.
    """

    url: str
    dp_rank: int | None
    score: float | None
    reason: str
    fail_open: bool
    ticket: Ticket


class Picker(Protocol):
    """Chooses where a request goes."""

    def pick(self, snapshot: FleetSnapshot, candidates: Iterable[Candidate]) -> Choice:
        """Choose one of the candidates.

        Args:
            snapshot: The fleet as it stands now: take one for each pick.
            candidates: Who could serve the request; named twice counts once, and the order doesn't matter.

        Raises:
            NoWorkerError: None of them may be picked; it says why of each.
        """
