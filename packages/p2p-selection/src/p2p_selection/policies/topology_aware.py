"""The nearest sources first, and among equally near ones rendezvous hashing, less a penalty for load where that is wanted."""

from collections.abc import Iterable, Mapping, Sequence

from p2p_selection.candidates import UNKNOWN_LOAD, Candidate, Target
from p2p_selection.digests import DigestCache
from p2p_selection.interfaces import Account
from p2p_selection.policies._loads import WeightedSelector, assumed_loads
from p2p_selection.policies._scored import Listing

DEFAULT_LEVELS = ("region", "zone", "datacenter", "block", "rack", "host", "numa")
"""Levels of a topology from broad to narrow, as modelexpress 0.7.0 names them."""


def shared_depth(one: Mapping[str, str], other: Mapping[str, str], levels: Sequence[str]) -> int:
    """Return the narrowest level that both places share with all broader ones: an index into `levels`, or -1 for none.

    A level that neither place tells is passed over; one that only one of them tells is not shared. A rack of the same name in
    another zone is therefore another rack.
    """
    depth = -1
    for place, level in enumerate(levels):
        mine, theirs = one.get(level), other.get(level)
        if mine is None and theirs is None:
            continue
        if mine != theirs:
            break
        depth = place
    return depth


class TopologyAware(WeightedSelector):
    """Ranks by `shared_depth`, then by `unit - weight * load`.

    modelexpress 0.7.0 takes an unknown load for idle here; this takes it for `unknown_load`, as every policy does.

    Args:
        levels: Levels from broad to narrow.
        weight: How much a full load costs among equally near sources, 0 or above; 0, the default, ignores load.
        unknown_load: What an unknown load counts as, 0 to 1; 0.0 gives the ordering of modelexpress 0.7.0.
        digests: Computes and keeps the digests; the default is a cache of its own with version 1 of the key.

    Raises:
        SettingError: An argument is out of range.
    """

    name = "topology_aware"

    def __init__(
        self,
        *,
        levels: Sequence[str] = DEFAULT_LEVELS,
        weight: float = 0.0,
        unknown_load: float = UNKNOWN_LOAD,
        digests: DigestCache | None = None,
    ) -> None:
        super().__init__(weight=weight, unknown_load=unknown_load, digests=digests)
        self.levels: tuple[str, ...] = tuple(levels)

    def scores(self, listing: Listing) -> Sequence[tuple[int, float]]:
        """Return `shared_depth` and `unit - weight * load` of each candidate."""
        here = listing.target.topology
        loads = assumed_loads(listing, self.unknown_load)
        return [
            (shared_depth(here, candidate.topology, self.levels), unit - self.weight * load)
            for candidate, unit, load in zip(listing.candidates, listing.units, loads, strict=True)
        ]

    def accounts(self, candidates: Iterable[Candidate], target: Target) -> list[Account]:
        """Return how each candidate came by its score, in the order given."""
        listing = self.listing(candidates, target)
        loads = assumed_loads(listing, self.unknown_load)
        return [
            Account(
                digest=digest,
                counted_load=load,
                penalty=self.weight * load,
                tier=depth,
                score=score,
                why=f"same {self.levels[depth]}" if depth >= 0 else "shares no level",
            )
            for digest, load, (depth, score) in zip(listing.digests, loads, self.scores(listing), strict=True)
        ]
