"""How the loads that several signals tell become one. Pure."""

from collections.abc import Callable, Mapping
from typing import TypeAlias, TypeVar

_Name = TypeVar("_Name")

Blend: TypeAlias = Callable[[Mapping[str, float | None]], float | None]
"""Makes one load, 0 to 1 or None, of the loads by signal; None is unknown."""

LOOKS_IDLE_BELOW = 0.05
"""Whoever chooses takes a source below this load for an idle one. "At least so busy" tells nothing then."""


def greatest(loads: Mapping[_Name, float | None]) -> float | None:
    """Return the greatest known load; None where that is below `LOOKS_IDLE_BELOW` beside an unknown one.

    Whatever the unknown one is, the whole is at least as busy as the known ones. "At least 0.01" tells nothing, though, and would
    call a NIC idle that nobody can see, as an engine with a single request does.
    """
    load = greatest_known(loads)
    return None if load is not None and load < LOOKS_IDLE_BELOW and None in loads.values() else load


def greatest_known(loads: Mapping[_Name, float | None]) -> float | None:
    """Return the greatest known load, as modelexpress 0.7.0 does: an unknown one counts as if there were none.

    For machines whose NIC can never be read, as a virtual function without counters, where an idle engine is all that is known.
    """
    return max((load for load in loads.values() if load is not None), default=None)
