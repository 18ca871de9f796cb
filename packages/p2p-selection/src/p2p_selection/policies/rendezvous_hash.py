"""Rendezvous hashing (highest random weight): each target has its own order of the sources, and needs nobody to agree on it.

A target prefers the source with the highest digest of the pair. A pair's digest knows of no other source, so one that comes
or goes changes nothing between the rest, and different targets prefer different sources.

Thaler and Ravishankar, "Using name-based mappings to increase hit rates", IEEE/ACM Transactions on Networking 6(1), 1998.
"""

from collections.abc import Iterable, Sequence

from p2p_selection.candidates import Candidate, Target
from p2p_selection.digests import DigestCache
from p2p_selection.interfaces import Account
from p2p_selection.policies._scored import Listing, ScoredSelector


class RendezvousHash(ScoredSelector):
    """Ranks by `rendezvous_digest` alone: even over many targets, steady for each of them, blind to load.

    With version 1 of the key the order is that of modelexpress 0.7.0.

    Args:
        digests: Computes and keeps the digests; the default is a cache of its own with version 1 of the key.
    """

    name = "rendezvous_hash"

    def __init__(self, *, digests: DigestCache | None = None) -> None:
        super().__init__(digests)

    def scores(self, listing: Listing) -> Sequence[float]:
        """Return the digests as numbers of [0, 1); where two round to one, the digests themselves decide."""
        return listing.units

    def accounts(self, candidates: Iterable[Candidate], target: Target) -> list[Account]:
        """Return how each candidate came by its score, in the order given."""
        listing = self.listing(candidates, target)
        return [Account(digest=digest, score=unit) for digest, unit in zip(listing.digests, listing.units, strict=True)]
