"""What the policies have in common that look at loads."""

from p2p_selection.candidates import known_load
from p2p_selection.policies._scored import Listing


def assumed_loads(listing: Listing, unknown_load: float) -> list[float]:
    """Return each candidate's load, 0 to 1, with `unknown_load` where nobody knows it."""
    loads = [candidate.source_load for candidate in listing.candidates]
    # Written out for the usual values: a call for each of 100,000 sources would take as long as their digests.
    return [
        unknown_load if load is None else load if 0.0 <= load <= 1.0 else _odd(load, unknown_load) for load in loads
    ]


def _odd(source_load: float, unknown_load: float) -> float:
    load = known_load(source_load)
    return unknown_load if load is None else load
