"""When to acknowledge a report: shortly before the next one is due.

The next report is built after the Worker has read the acknowledgement that makes room for it, so its delivery delay is known
to be no longer than the time since that was sent. An acknowledgement at once makes this bound as long as the report
interval, though the report may have taken a millisecond; one sent just ahead of the Worker's deadline makes it short.
One sent too late costs a report, and shows: then this stream acknowledges at once from there on. So it does, once, for a report
that tells another state of the engine: it may have come between two deadlines, and a Worker that drains waits for it.
"""

_NS_PER_MS = 1_000_000
_SHORTEST_LEAD_MS = 50
_LONGEST_LEAD_MS = 250
_SKIPPED = 1.5  # intervals between two reports from which one in between was skipped


class AckTiming:
    """The moments of one stream's acknowledgements.

    Attributes:
        due_ns: From when on what is processed may be acknowledged.
    """

    def __init__(self, interval_ms: int | None) -> None:
        """Start with the granted report interval; without one, and with a short one, acknowledgements go out at once.

        The lead is a tenth of the interval, within 50 to 250 ms: loops run late, and networks take their time.
        """
        self._interval_ns = (interval_ms or 0) * _NS_PER_MS
        lead_ms = min(max(_SHORTEST_LEAD_MS, (interval_ms or 0) // 10), _LONGEST_LEAD_MS)
        self._wait_ns = max(0, self._interval_ns - lead_ms * _NS_PER_MS)
        if self._wait_ns < lead_ms * _NS_PER_MS:
            self._wait_ns = 0
        self._received_ns: int | None = None
        self._worker_state: int | None = None
        self.due_ns = 0

    def received(self, now_ns: int, worker_state: int) -> None:
        """Note a report and the engine's state in it; what it makes due is due `lead` before the one after it."""
        if self._received_ns is not None and now_ns - self._received_ns > _SKIPPED * self._interval_ns:
            self._wait_ns = 0
        self._received_ns = now_ns
        tells_another_state = self._worker_state not in {None, worker_state}
        self._worker_state = worker_state
        self.due_ns = now_ns if tells_another_state else now_ns + self._wait_ns
