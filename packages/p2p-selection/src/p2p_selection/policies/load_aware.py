"""Rendezvous hashing less a penalty for load, as modelexpress 0.7.0 defines it where its load is a number."""

from collections.abc import Iterable, Sequence

from p2p_selection.candidates import Candidate, Target
from p2p_selection.interfaces import Account
from p2p_selection.policies._loads import WeightedSelector, assumed_loads
from p2p_selection.policies._scored import Listing


class LoadAware(WeightedSelector):
    """Ranks by `unit - weight * load`: with load equal everywhere, exactly rendezvous hashing.

    One idle source among busy ones is first for every target; with many targets at once, `Spread` is better.

    Args:
        weight: How much a full load costs, 0 or above; at 1 a full source ranks below every idle one, at 0 load is ignored.
        unknown_load: What an unknown load counts as, 0 to 1. 0.0 gives the ordering of the design's first revision.
        digests: Computes and keeps the digests; the default is a cache of its own with version 1 of the key.

    Raises:
        SettingError: An argument is out of range.
    """

    name = "load_aware"

    def scores(self, listing: Listing) -> Sequence[float]:
        """Return `unit - weight * load` of each candidate."""
        weight = self.weight
        loads = assumed_loads(listing, self.unknown_load)
        return [unit - weight * load for unit, load in zip(listing.units, loads, strict=True)]

    def accounts(self, candidates: Iterable[Candidate], target: Target) -> list[Account]:
        """Return how each candidate came by its score, in the order given."""
        listing = self.listing(candidates, target)
        loads = assumed_loads(listing, self.unknown_load)
        return [
            Account(digest=digest, counted_load=load, penalty=self.weight * load, score=score)
            for digest, load, score in zip(listing.digests, loads, self.scores(listing), strict=True)
        ]
