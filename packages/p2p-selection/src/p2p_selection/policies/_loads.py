"""What the policies have in common that look at loads."""

from p2p_selection._checks import checked_unknown_load, checked_weight
from p2p_selection.candidates import UNKNOWN_LOAD, known_load
from p2p_selection.digests import DigestCache
from p2p_selection.policies._scored import Listing, ScoredSelector


class WeightedSelector(ScoredSelector):
    """Ranks by hash and load; what a full load costs is its weight.

    Args:
        weight: How much load counts, 0 or above; at 0 it is ignored.
        unknown_load: What an unknown load counts as, 0 to 1.
        digests: Computes and keeps the digests; the default is a cache of its own with version 1 of the key.

    Raises:
        SettingError: An argument is out of range.
    """

    def __init__(
        self, *, weight: float = 1.0, unknown_load: float = UNKNOWN_LOAD, digests: DigestCache | None = None
    ) -> None:
        super().__init__(digests)
        self.weight: float = checked_weight(weight)
        self.unknown_load: float = checked_unknown_load(unknown_load)


def assumed_loads(listing: Listing, unknown_load: float) -> list[float]:
    """Return each candidate's load, 0 to 1, with `unknown_load` where nobody knows it."""
    # Written out for the usual values: a call for each of 100,000 sources would take as long as their digests.
    return [
        unknown_load
        if (load := candidate.source_load) is None
        else load
        if 0.0 <= load <= 1.0
        else _odd(load, unknown_load)
        for candidate in listing.candidates
    ]


def _odd(source_load: float, unknown_load: float) -> float:
    load = known_load(source_load)
    return unknown_load if load is None else load
