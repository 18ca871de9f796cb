"""Checks of settings that several parts have."""

import math

from p2p_selection.errors import SettingError


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
