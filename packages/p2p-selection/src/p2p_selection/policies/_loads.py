"""What the policies have in common that look at loads."""

import math

from p2p_selection.candidates import known_load
from p2p_selection.errors import SettingError
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


def checked_weight(weight: float) -> float:
    """Return the weight.

    Raises:
        SettingError: It is negative or not finite.
    """
    if not 0 <= weight < math.inf:
        raise SettingError("weight", weight, "a finite number of at least 0")
    return float(weight)


def checked_unknown_load(unknown_load: float) -> float:
    """Return what an unknown load counts as.

    Raises:
        SettingError: It isn't of 0 to 1.
    """
    if not 0 <= unknown_load <= 1:
        raise SettingError("unknown_load", unknown_load, "0.0, idle, to 1.0, full,")
    return float(unknown_load)
