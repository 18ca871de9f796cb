"""Rendezvous hashing with bounded loads: the plain order, but sources well above the mean load come after all others.

After Mirrokni, Thorup and Zadimoghaddam, "Consistent hashing with bounded loads", SODA 2018, with the load that a source
publishes in the place of a count that somebody would have to keep.
"""

from collections.abc import Iterable, Sequence
from math import fsum
from typing import Final

from p2p_selection._checks import checked_unknown_load
from p2p_selection.candidates import UNKNOWN_LOAD, Candidate, Target
from p2p_selection.digests import DigestCache
from p2p_selection.errors import SettingError
from p2p_selection.interfaces import Account
from p2p_selection.policies._loads import assumed_loads
from p2p_selection.policies._scored import Listing, ScoredSelector

_ABOVE_ALL: Final = 1 << 64


class BoundedLoad(ScoredSelector):
    """Ranks sources within `factor` times the mean load by digest, and those above it by digest after them.

    A load that changes within the bound changes nothing, so targets keep their sources (and whatever those have cached);
    targets of a source above it fall to their own next ones, not all to the idlest.

    Args:
        factor: How far above the mean a load may lie, above 1 and below 2.
        unknown_load: What an unknown load counts as, 0 to 1.
        digests: Computes and keeps the digests; the default is a cache of its own with version 1 of the key.

    Raises:
        SettingError: An argument is out of range.
    """

    name = "bounded_load"

    def __init__(
        self, *, factor: float = 1.25, unknown_load: float = UNKNOWN_LOAD, digests: DigestCache | None = None
    ) -> None:
        super().__init__(digests)
        # From 2 on, one of two sources could raise the bound above itself by its own load.
        if not 1 < factor < 2:
            raise SettingError("factor", factor, "more than 1 and less than 2")
        self.factor: float = factor
        self.unknown_load: float = checked_unknown_load(unknown_load)

    def scores(self, listing: Listing) -> Sequence[int]:
        """Return the digest of each candidate, those within the bound above all others."""
        loads = assumed_loads(listing, self.unknown_load)
        bound = self._bound(loads)
        return [
            digest + _ABOVE_ALL if load <= bound else digest
            for load, digest in zip(loads, listing.digests, strict=True)
        ]

    def accounts(self, candidates: Iterable[Candidate], target: Target) -> list[Account]:
        """Return how each candidate came by its score, in the order given."""
        listing = self.listing(candidates, target)
        loads = assumed_loads(listing, self.unknown_load)
        bound = self._bound(loads)
        return [
            Account(
                digest=digest,
                counted_load=load,
                tier=int(load <= bound),
                score=unit,
                why="" if load <= bound else f"load above {bound:.2f}, the bound: after all within it",
            )
            for digest, load, unit in zip(listing.digests, loads, listing.units, strict=True)
        ]

    def _bound(self, loads: Sequence[float]) -> float:
        # Exact, so that the bound doesn't depend on the order of the list.
        return self.factor * fsum(loads) / max(1, len(loads))
