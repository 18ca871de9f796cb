"""A new order at each call."""

import random
from collections.abc import Iterable

from p2p_selection.candidates import Candidate, Target


class RandomOrder:
    """Shuffles: even on average, and neither steady nor the same for anybody else.

    Args:
        seed: Makes the sequence of orders repeatable for the same lists; None draws from the operating system.

    Attributes:
        name: The policy's name in configuration, `random`.
    """

    name: str = "random"

    def __init__(self, *, seed: int | None = None) -> None:
        self._random = random.Random(seed)  # noqa: S311 - spreads load, hides nothing

    def order(self, candidates: Iterable[Candidate], target: Target) -> list[Candidate]:
        """Return the same candidates in a new list, shuffled."""
        return self.top(listed := list(candidates), target, len(listed))

    def top(self, candidates: Iterable[Candidate], target: Target, k: int) -> list[Candidate]:
        """Return `k` of the candidates, drawn without replacement; an empty list for a `k` below 1."""
        del target  # whoever asks, the order is random
        listed = list(candidates)
        return self._random.sample(listed, min(max(0, k), len(listed)))
