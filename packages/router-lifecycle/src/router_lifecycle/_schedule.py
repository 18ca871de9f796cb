"""When to look whether a registration is done: few looks, most where routers list new workers, and never late by much of the time.

sglang-router lists a live worker 10 to 100 ms after its submission, mostly 30 to 60, and SMG 140 to 190 ms. sglang-router 0.2.4 and
later probe one that isn't live yet 1, 3, 6 and 10 s after the submission and then every 5 s, SMG every 30 s; the entry follows a
good probe by as much. But a router whose job slots are held by others lists a worker at any moment.

At any moment within 2 s, N looks can't have a median delay below 1000 / N ms: they find at most N * d of 2 s within d, and the
median is the d for which that is 1 s. Equal gaps come closest; beyond, gaps that are a share of the age keep the delay a share of it.
"""

from router_lifecycle.dialects import DialectName

# Where live workers are listed.
_FIRST_SECONDS: dict[DialectName, tuple[float, ...]] = {"url": (0.06, 0.12), "uuid": (0.06, 0.12), "smg": (0.2,)}
# Four of these lead from there to the first probe's moment and four on to 2 s: the 10 looks that 15 requests leave, and one beyond.
_EVEN_SECONDS = 0.23
_EVEN_UNTIL_SECONDS = 1.9
_AGE_SHARE = 0.2
_LONGEST_SECONDS = 5.0
_PROBE_SECONDS = (1.09, 3.1, 6.11, 10.13)
# A little more than the 5 s: what each probe takes adds up.
_PROBE_GAP_SECONDS = 5.05
_SMG_PROBE_GAP_SECONDS = 30.0
_SMG_ENTRY_SECONDS = 0.25
# A look shortly before a probe would be wasted: the wait is drawn out.
_REACH = 1.25
_AT_IT_SECONDS = 0.02


def seconds_to_look(age_seconds: float, dialect: DialectName, spread: float = 1.0) -> float:
    """Return how long to wait for the next look, always more than 0.

    Args:
        age_seconds: Time since the submission.
        dialect: What the router speaks.
        spread: By what to multiply waits beyond 2 s that end at no moment of the router's, so that clients don't look in step.
    """
    for moment in _FIRST_SECONDS.get(dialect, ()):
        if age_seconds < moment - _AT_IT_SECONDS:
            return moment - age_seconds
    is_even = age_seconds < _EVEN_UNTIL_SECONDS
    wait = _EVEN_SECONDS if is_even else min(_AGE_SHARE * age_seconds, _LONGEST_SECONDS)
    moment = _seconds_to_probe(age_seconds, dialect)
    return moment if moment <= wait * _REACH else wait if is_even else wait * spread


def _seconds_to_probe(age_seconds: float, dialect: DialectName) -> float:
    """Return how long it is until the entry would follow the router's next probe."""
    # A look that began at a moment has been at it, whatever rounding says.
    passed = age_seconds + _AT_IT_SECONDS
    if dialect == "smg":
        gap, last = _SMG_PROBE_GAP_SECONDS, _SMG_ENTRY_SECONDS
    else:
        gap, last = _PROBE_GAP_SECONDS, _PROBE_SECONDS[-1]
        for moment in _PROBE_SECONDS:
            if passed < moment:
                return moment - age_seconds
    return gap - (passed - last) % gap + _AT_IT_SECONDS
