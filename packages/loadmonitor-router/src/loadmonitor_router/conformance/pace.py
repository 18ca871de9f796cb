"""How often reports come, judged so that no delay on the way can make a Worker look guilty."""

from loadmonitor_router.conformance.results import Deviation
from loadmonitor_router.conformance.stream import RouterStream

GRANTED_PACE_MS: range = range(5, 501)
"""Intervals at which some reports can be counted: a shorter one drowns in rounding, a longer one takes too long."""

_REPORTS = 10
_ROUNDING_MS = 2


async def at_least(stream: RouterStream, interval_ms: int) -> None:
    """Take some reports, and see that they were not built more often than once an interval.

    By the Worker's own clock. However late a report is built, it belongs to a deadline, and each deadline earns one: the
    first may be an interval late, so that many intervals but two lie between the first and the last.

    Raises:
        Deviation: They were built more often.
    """
    await stream.report()  # the first after a register has no deadline before it
    built = [(await stream.report()).report_time_unix_ms for _ in range(_REPORTS)]
    span_ms = built[-1] - built[0]
    if span_ms < (_REPORTS - 2) * interval_ms - _ROUNDING_MS:
        raise Deviation(f"{_REPORTS} reports within {span_ms} ms at an interval of {interval_ms} ms")
