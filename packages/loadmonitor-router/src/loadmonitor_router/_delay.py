"""How long a report can have been on its way: one bound for Workers that honour acknowledgements, one for the others.

Both follow one stream, from its `register` on, and see every report of it in the order of arrival.
"""

from collections import deque

_NS_PER_MS = 1_000_000
_DRIFT = 0.0005  # 500 ppm, the most by which NTP slews a clock: two machines drift apart no faster
_STEP_MS = 100  # network latency varies by less than this within one stream; a step of the Worker's clock may not
_ROUNDING_MS = 1


class CreditedDelay:
    """The bound where the Worker honours acknowledgements.

    A report is built after the Worker has read the acknowledgement that made room for it: report number k (from 0)
    after the `register` when k is below the window, else after the first acknowledgement that covers report k - window.
    So it can't have been under way for longer than from the sending of that frame to its receipt. No clock but ours is
    involved.

    A Worker that sends more reports than it has credit for proves that its reports don't wait for credit; from then on
    nothing bounds the delay.
    """

    def __init__(self, window: int, registered_ns: int) -> None:
        """Start with the credit that the `register` grants.

        Args:
            window: `max_unacked_reports` of the register.
            registered_ns: When sending the register began.
        """
        self._credits = deque([registered_ns] * window)
        self._overdrawn = False

    def credit(self, sent_ns: int, reports: int) -> None:
        """Note an acknowledgement.

        Args:
            sent_ns: When sending it began.
            reports: How many reports it covers that no earlier one did.
        """
        self._credits.extend([sent_ns] * reports)

    def bound_ms(self, received_ns: int) -> float | None:
        """Return the most milliseconds that the report read at `received_ns` can have been under way, or None."""
        if not self._credits:
            self._overdrawn = True
        if self._overdrawn:
            return None
        return (received_ns - self._credits.popleft()) / _NS_PER_MS


class EstimatedDelay:
    """The bound where acknowledgements are off or the Worker doesn't know them.

    `offset = receipt - report_time` is the delay plus the unknown distance between the two clocks. The distance is the
    smallest offset that the stream can have: the first report was built after the `register` was sent, so its delay is
    at most the time since; later reports may show a smaller offset. What an offset has above the smallest is delay.
    Clocks drift, so the smallest may rise by 0.5 ms a second; what the estimate can miss is the delay that every report
    of the last minutes shared.

    Receipts are monotonic, so a step of our own clock changes nothing. A step of the Worker's clock shows as a report
    time that runs backwards, or as an offset far below the smallest: `stepped` is true from then on and nothing bounds
    the delay until the stream is opened anew.
    """

    def __init__(self, registered_ns: int) -> None:
        """Start at the moment when sending the `register` began."""
        self._registered_ns = registered_ns
        self._received_ns = registered_ns
        self._report_time_ms: int | None = None
        self._smallest_ms = 0.0
        self.stepped = False

    def bound_ms(self, received_ns: int, report_time_unix_ms: int | None) -> float | None:
        """Return the milliseconds that the report read at `received_ns` was under way, or None when nothing tells.

        Args:
            received_ns: When the report was read, monotonic.
            report_time_unix_ms: When it was built, on the Worker's clock, or None.
        """
        if report_time_unix_ms is None or self.stepped:
            return None
        offset_ms = received_ns / _NS_PER_MS - report_time_unix_ms
        if self._report_time_ms is None:
            self._smallest_ms = offset_ms - (received_ns - self._registered_ns) / _NS_PER_MS
        else:
            ran_backwards = report_time_unix_ms < self._report_time_ms - _ROUNDING_MS
            if ran_backwards or offset_ms < self._smallest_ms - _STEP_MS:
                self.stepped = True
                return None
            drift_ms = (received_ns - self._received_ns) / _NS_PER_MS * _DRIFT
            self._smallest_ms = min(offset_ms, self._smallest_ms + drift_ms)
        self._received_ns = received_ns
        self._report_time_ms = report_time_unix_ms
        return offset_ms - self._smallest_ms
