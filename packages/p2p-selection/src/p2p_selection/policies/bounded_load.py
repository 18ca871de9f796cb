"""Rendezvous hashing with bounded loads: the plain order, but sources well above the mean load come after all others.

After Mirrokni, Thorup and Zadimoghaddam, "Consistent hashing with bounded loads", SODA 2018, with the load that a source
publishes in the place of a count that somebody would have to keep.
"""

from collections.abc import Sequence

from p2p_selection._checks import checked_unknown_load
from p2p_selection.candidates import UNKNOWN_LOAD
from p2p_selection.digests import DigestCache
from p2p_selection.errors import SettingError
from p2p_selection.policies._loads import assumed_loads
from p2p_selection.policies._scored import Listing, ScoredSelector


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
        self.factor = factor
        self.unknown_load = checked_unknown_load(unknown_load)

    def scores(self, listing: Listing) -> Sequence[tuple[bool, int]]:
        """Return whether each candidate is within the bound, and its digest."""
        loads = assumed_loads(listing, self.unknown_load)
        bound = self.factor * sum(loads) / max(1, len(loads))
        return [(load <= bound, digest) for load, digest in zip(loads, listing.digests, strict=True)]
