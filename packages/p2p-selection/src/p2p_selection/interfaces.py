"""What this package is given by others, by shape."""

from collections.abc import Iterable
from typing import Protocol, runtime_checkable

from p2p_selection.candidates import Candidate, Target


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
