"""Weighted rendezvous hashing: as many targets for each source as it has room for, without any of them asking another.

Schindelhauer and Schomaker, "Weighted distributed hash tables", SPAA 2005: with the score `-weight / ln(u)`, `u` a hash uniform
on (0, 1), a source is first for a share of the targets that is its weight over the sum of all weights.
"""

from collections.abc import Iterable, Sequence
from math import log

from p2p_selection.candidates import Candidate, Target
from p2p_selection.interfaces import Account
from p2p_selection.policies._loads import WeightedSelector, assumed_loads
from p2p_selection.policies._scored import Listing

LEAST_CAPACITY = 0.1
"""Free capacity of a full source: loads are up to a heartbeat old, so a full one may have room again."""


class Spread(WeightedSelector):
    """Spreads targets over the sources in proportion to free capacity, `max(1 - load, 0.1)`.

    Where `load_aware` sends every target to the one idle source, this sends it the share that it has room for. The same target
    ranks the same loads the same way, and when a load changes only the targets that gain or lose by it move. With load equal
    everywhere the order is exactly that of rendezvous hashing.

    Args:
        weight: The power to which free capacity is raised, 0 or above; 1 is in proportion, 0 ignores load.
        unknown_load: What an unknown load counts as, 0 to 1.
        digests: Computes and keeps the digests; the default is a cache of its own with version 1 of the key.

    Raises:
        SettingError: An argument is out of range.
    """

    name = "spread"

    def scores(self, listing: Listing) -> Sequence[float]:
        """Return the logarithm of `-capacity ** weight / ln(u)` of each candidate: it orders alike, and a huge weight fits."""
        loads = assumed_loads(listing, self.unknown_load)
        # Half a step up, because a digest of 0 has no logarithm.
        return [
            self.weight * log(max(1.0 - load, LEAST_CAPACITY)) - log(-log(unit + 2.0**-65))
            for unit, load in zip(listing.units, loads, strict=True)
        ]

    def accounts(self, candidates: Iterable[Candidate], target: Target) -> list[Account]:
        """Return how each candidate came by its score, in the order given."""
        listing = self.listing(candidates, target)
        loads = assumed_loads(listing, self.unknown_load)
        return [
            Account(
                digest=digest,
                counted_load=load,
                penalty=self.weight * log(1.0 / max(1.0 - load, LEAST_CAPACITY)),
                score=score,
            )
            for digest, load, score in zip(listing.digests, loads, self.scores(listing), strict=True)
        ]
