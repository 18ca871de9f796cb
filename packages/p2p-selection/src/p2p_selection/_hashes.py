"""What is kept of a target's sources from one list to the next."""

from collections.abc import Sequence
from math import nextafter
from typing import Final

Sources = tuple[list[str], list[str], list[int]]
"""The `mx_source_id`, `worker_id` and `worker_rank` of each source of a list, in its order."""

_SCALE: Final = 2.0**-64
_BELOW_ONE: Final = nextafter(1.0, 0.0)


def unit_hashes(digests: Sequence[int]) -> list[float]:
    """Return each digest as a number of [0, 1): `digest / 2**64`, kept below 1 where rounding would reach it."""
    # The product is rounded once, as the quotient is, and is twice as fast: a power of two scales without loss.
    units = [digest * _SCALE for digest in digests]
    return units if max(units, default=0.0) < 1.0 else [min(unit, _BELOW_ONE) for unit in units]


class Hashes:
    """The digests of a list of sources for one target, and what follows from them alone, computed when first asked for.

    Attributes:
        sources: Whose digests they are.
        digests: A digest for each.
        reused: The same list came again, so what is computed now is likely to serve once more.
    """

    __slots__ = ("_by_digest", "_units", "digests", "reused", "sources")

    def __init__(self, sources: Sources, digests: list[int]) -> None:
        self.sources: Sources = sources
        self.digests: list[int] = digests
        self.reused: bool = False
        self._units: list[float] | None = None
        self._by_digest: list[int] | None = None

    @property
    def units(self) -> list[float]:
        """Each digest as a number of [0, 1)."""
        if self._units is None:
            self._units = unit_hashes(self.digests)
        return self._units

    @property
    def by_digest(self) -> list[int]:
        """The places of the list, highest digest first; equal digests by their ids, ascending."""
        if self._by_digest is None:
            places: Sequence[int] = range(len(self.digests))
            key: Sequence[float] = self.units
            # Floats sort faster; where two digests round to one, they decide themselves, and where they are equal, the ids.
            if len(set(key)) < len(key):
                key = self.digests
                places = sorted(places, key=list(zip(*self.sources, strict=True)).__getitem__)
            self._by_digest = sorted(places, key=key.__getitem__, reverse=True)
        return self._by_digest
