"""What this package is given by others, by shape, and what passes between it and them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from p2p_selection._hashes import unit_hashes
from p2p_selection.candidates import Candidate, Target

if TYPE_CHECKING:
    from p2p_selection.selection import Selection


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """How a candidate came by its score. Candidates rank by tier, then score, then digest, each the highest first.

    Attributes:
        digest: The target's preference for it, 0 to 2**64 - 1.
        counted_load: What its load counts as, 0 to 1, with the policy's prior for an unknown one; None when the policy doesn't
            look at load.
        penalty: What its load takes off its score, 0 or above; None where load takes nothing off a score.
        tier: Candidates of a higher tier come before all of a lower one.
        score: What decides within a tier.
        why: What else decides, in words; "" when nothing does.
    """

    digest: int
    counted_load: float | None = None
    penalty: float | None = None
    tier: int = 0
    score: float
    why: str = ""

    @property
    def unit_hash(self) -> float:
        """The digest as a number of [0, 1)."""
        return unit_hashes([self.digest])[0]


@runtime_checkable
class SourceSelector(Protocol):
    """A policy: ranks the candidates of one target, best first.

    Attributes:
        name: The policy's name in configuration and metrics.
    """

    name: str

    def order(self, candidates: Iterable[Candidate], target: Target) -> list[Candidate]:
        """Return the same candidates in a new list, best first."""
        ...

    def top(self, candidates: Iterable[Candidate], target: Target, k: int) -> list[Candidate]:
        """Return the first `k` of what `order` returns; an empty list for a `k` below 1."""
        ...


@runtime_checkable
class Accountable(Protocol):
    """A policy that can say how each candidate came by its place; every policy here but `random` can."""

    def accounts(self, candidates: Iterable[Candidate], target: Target) -> Sequence[Account]:
        """Return an account of each candidate, in the order given."""
        ...


class AttemptOutcome(StrEnum):
    """How an attempt to pull from a source ended."""

    SUCCESS = "success"
    """The weights came from it."""
    METADATA_MISS = "metadata_miss"
    """There was nothing to pull: the source's metadata isn't there."""
    TRANSFER_RETRY = "transfer_retry"
    """The pull failed, or took too long, and the next source is tried."""
    TRANSFER_FALLBACK = "transfer_fallback"
    """The pull failed, or took too long, and no other source is tried."""


class SelectionHook(Protocol):
    """Sees every selection and every attempt, for metrics or a log. What it raises is logged and changes nothing."""

    def selected(self, selection: "Selection", seconds: float) -> None:
        """A pipeline has selected; ordering the candidates took so many seconds."""
        ...

    def listing_failed(self, policy: str, error: Exception) -> None:
        """There was no list to select from: the registry couldn't be asked, or didn't answer."""
        ...

    def attempted(
        self, policy: str, candidate: Candidate, outcome: AttemptOutcome, seconds: float, error: Exception | None
    ) -> None:
        """An attempt to pull from the candidate ended after so many seconds, with this error unless it succeeded."""
        ...


class Feedback(Protocol):
    """Learns how attempts end; a `SelectionPipeline` does. What it raises is logged and changes nothing."""

    def attempted(
        self, candidate: Candidate, outcome: AttemptOutcome, seconds: float, error: Exception | None = None
    ) -> None:
        """An attempt to pull from the candidate ended after so many seconds, with this error unless it succeeded."""
        ...
