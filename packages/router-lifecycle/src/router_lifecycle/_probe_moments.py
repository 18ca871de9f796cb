"""When a router is likely to list a new worker: just after one of its own probes of it.

sglang-router 0.2.4 and later probe 0, 1, 3, 6 and 10 s after the submission and then every 5 s, SMG every 30 s; the entry follows a
good probe by less than 0.1 and 0.2 s. A look right then costs no more than one at any other time and finds the worker sooner.
"""

from router_lifecycle.dialects import DialectName

# Two looks where the next one would otherwise be late by much of the time so far.
_FIRST_SECONDS = (1.08, 1.16, 3.08, 3.16, 6.1, 10.2)
# A little more than the 5 s: what each probe takes adds up.
_GAP_SECONDS = 5.05
_ENTRY_SECONDS = 0.1
_AT_IT_SECONDS = 0.02
_SMG_GAP_SECONDS = 30.0
_SMG_ENTRY_SECONDS = 0.25


def seconds_to_next(age_seconds: float, dialect: DialectName) -> float:
    """Return how long it is until the next such moment, always more than 0.

    Args:
        age_seconds: Time since the submission.
        dialect: What the router speaks.
    """
    gap, entry = (_SMG_GAP_SECONDS, _SMG_ENTRY_SECONDS) if dialect == "smg" else (_GAP_SECONDS, _ENTRY_SECONDS)
    # A look that began at a moment has been at it, whatever rounding says.
    age_seconds += _AT_IT_SECONDS
    regular = gap - (age_seconds - entry) % gap + _AT_IT_SECONDS
    if dialect == "smg" or age_seconds >= _FIRST_SECONDS[-1]:
        return regular
    return next(moment for moment in _FIRST_SECONDS if moment > age_seconds) - age_seconds + _AT_IT_SECONDS
