"""What the policies have in common that give each candidate a score."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from p2p_selection._hashes import Hashes
from p2p_selection._ranking import rank_all, rank_top
from p2p_selection.candidates import Candidate, Target
from p2p_selection.digests import DigestCache
from p2p_selection.interfaces import Account


@dataclass(frozen=True, slots=True)
class Listing:
    """Candidates of one target, and their hashes, in the same order.

    Attributes:
        candidates: The candidates.
        hashes: What is kept of their digests.
        target: The process that is going to pull.
    """

    candidates: Sequence[Candidate]
    hashes: Hashes
    target: Target

    @property
    def digests(self) -> Sequence[int]:
        """The digest of each candidate, 0 to 2**64 - 1; not to be changed."""
        return self.hashes.digests

    @property
    def units(self) -> Sequence[float]:
        """Each digest as a number of [0, 1); not to be changed."""
        return self.hashes.units


class ScoredSelector(ABC):
    """Ranks by a score of each candidate, the highest first.

    Equal scores are decided by digest, then by `mx_source_id`, `worker_id` and `worker_rank`, ascending, so everyone who is
    given the same sources ranks them identically, in whatever order they were listed. Entries with all three ids and the
    score equal are one source listed twice; they stay as they came. A selector may be shared by threads.

    Args:
        digests: Computes and keeps the digests; the default is a cache of its own with version 1 of the key.

    Attributes:
        name: The policy's name in configuration.
    """

    name: str

    def __init__(self, digests: DigestCache | None) -> None:
        self._digests = DigestCache() if digests is None else digests

    @abstractmethod
    def scores(self, listing: Listing) -> Sequence[Any]:
        """Return a score for each candidate; higher is better."""

    @abstractmethod
    def accounts(self, candidates: Iterable[Candidate], target: Target) -> list[Account]:
        """Return how each candidate came by its score, in the order given."""

    def order(self, candidates: Iterable[Candidate], target: Target) -> list[Candidate]:
        """Return the same candidates in a new list, best first; an empty list for none.

        Args:
            candidates: The sources to rank; read once and left as they are.
            target: The process that is going to pull.

        Raises:
            UnicodeEncodeError: A name or id holds a lone surrogate.
        """
        listing = self.listing(candidates, target)
        return rank_all(listing.candidates, self.scores(listing), listing.hashes)

    def top(self, candidates: Iterable[Candidate], target: Target, k: int) -> list[Candidate]:
        """Return the first `k` of what `order` returns, cheaper for a small `k`; an empty list for a `k` below 1.

        Raises:
            UnicodeEncodeError: A name or id holds a lone surrogate.
        """
        listing = self.listing(candidates, target)
        return rank_top(listing.candidates, self.scores(listing), listing.hashes, k)

    def listing(self, candidates: Iterable[Candidate], target: Target) -> Listing:
        """Return the candidates with their hashes.

        Raises:
            UnicodeEncodeError: A name or id holds a lone surrogate.
        """
        listed = list(candidates)
        return Listing(listed, self._digests.hashes(listed, target), target)
