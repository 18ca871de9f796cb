"""The state of one Monitor stream: registration, deadlines, lease, credit and what waits to be sent. No I/O, no clock.

Times are nanoseconds on the reporter's monotonic clock.
"""

from collections.abc import Callable
from typing import ClassVar

LEASE_GRACE_NS = 50_000_000
"""How long after the look that finds a lease run out it is judged, by a look no later than this: frames may lie unread before."""

_MOST_REPEATED_LOOKS = 3
_FOREVER_NS = 2**63


class Session:
    """One Router's stream, from its opening to its end.

    Attributes:
        router_id: Whom the stream belongs to; None until `register` was accepted.
        interval_ns: Granted report interval.
        lease_ns: Granted lease.
        deadline_ns: When the next report is due.
        lease_until_ns: When the lease runs out.
        max_unacked: Most reports in flight, or None for a Router that doesn't acknowledge; the first `register` settles it.
        ended: Whether the stream takes no more reports; what was queued is still sent.
        refusal: Tells why its Router may not register an id, or None; forgotten once it has registered.
        peer: Where its Router is, in gRPC's words, for people; "" when nobody told.
        on_ready: Called whenever `take` has something new to give.
        is_orca: Whether it takes its reports as ORCA, not as frames of the Monitor stream.
    """

    is_orca: ClassVar[bool] = False

    __slots__ = (
        "_anchor_ns",
        "_control",
        "_frames_until_ns",
        "_lease_look_ns",
        "_looks",
        "_newest_acked",
        "_newest_sent",
        "_report",
        "_unacked",
        "deadline_ns",
        "ended",
        "interval_ns",
        "lease_ns",
        "lease_until_ns",
        "max_unacked",
        "on_ready",
        "peer",
        "refusal",
        "router_id",
    )

    def __init__(
        self, on_ready: Callable[[], None], peer: str = "", refusal: Callable[[str], str | None] | None = None
    ) -> None:
        self.on_ready = on_ready
        self.peer = peer
        self.refusal = refusal
        self.router_id: str | None = None
        self.ended = False
        # Lists, though they are queues: they hold a few items at most, and an empty deque takes 600 bytes.
        self._control: list[bytes] = []
        self._report: tuple[int, bytes] | None = None
        self._unacked: list[int] = []
        self._newest_sent = 0
        self._newest_acked = 0
        self._frames_until_ns = 0
        self.lease_until_ns = 0

    def open(
        self,
        router_id: str,
        *,
        interval_ns: int,
        lease_ns: int,
        max_unacked: int | None,
        anchor_ns: int,
        now_ns: int,
    ) -> None:
        """Register; the first report is due at once, later ones at multiples of the interval after `anchor_ns`."""
        self.router_id = router_id
        self.refusal = None  # and with it the call's metadata, secrets among them
        self.max_unacked = max_unacked
        self._anchor_ns = anchor_ns
        self.deadline_ns = now_ns
        self.interval_ns = interval_ns
        self.lease_ns = lease_ns
        self.renew(now_ns)

    def change(self, *, interval_ns: int, lease_ns: int, now_ns: int) -> None:
        """Apply new terms; the anchor stays, and no report is due earlier than the next multiple of the new interval."""
        self.lease_ns = lease_ns
        if interval_ns != self.interval_ns:
            self.interval_ns = interval_ns
            self.skip(now_ns)
        self.renew(now_ns)

    def admit_frame(self, now_ns: int, per_second: int) -> bool:
        """Count one frame of the Router; return False for one beyond `per_second`, with a second's worth of slack."""
        self._frames_until_ns = max(self._frames_until_ns, now_ns) + 1_000_000_000 // per_second
        return self._frames_until_ns - now_ns <= 1_000_000_000

    # Lease

    def renew(self, now_ns: int) -> bool:
        """Start the lease anew; return whether it had run out, so that the session needs the loop sooner than it said."""
        had_run_out = now_ns >= self.lease_until_ns
        self.lease_until_ns = self._lease_look_ns = now_ns + self.lease_ns
        self._looks = 0
        return had_run_out

    def judge_lease(self, now_ns: int) -> bool:
        """Tell whether the lease has run out, as seen by a loop that was awake to read the Router's frames.

        The first look, and one that comes late, proves nothing: it is repeated after a grace in which waiting frames are read.
        """
        if now_ns < self._lease_look_ns:
            return False
        late = now_ns - self._lease_look_ns > LEASE_GRACE_NS
        if self._looks == 0 or (late and self._looks < _MOST_REPEATED_LOOKS):
            self._looks += 1
            self._lease_look_ns = now_ns + LEASE_GRACE_NS
            return False
        return True

    # Schedule

    def wake_at(self, now_ns: int) -> int:
        """Return when this session next needs the loop."""
        if now_ns >= self.lease_until_ns:
            return self._lease_look_ns
        return min(self.deadline_ns, self._lease_look_ns)

    def is_due(self, now_ns: int) -> bool:
        """Tell whether a report is due; a lapsed lease gates delivery."""
        return self.deadline_ns <= now_ns < self.lease_until_ns

    def skip(self, now_ns: int) -> None:
        """Move to the first deadline after now, in phase with the anchor; missed ones are not made up for."""
        self.deadline_ns = now_ns + self.interval_ns - (now_ns - self._anchor_ns) % self.interval_ns

    def hurry(self, now_ns: int) -> None:
        """Make a report due now; the deadlines after it stay where they are."""
        self.deadline_ns = min(self.deadline_ns, now_ns)

    # Reports

    @property
    def unacked(self) -> int:
        """Reports offered and not acknowledged; always 0 for a Router that doesn't acknowledge."""
        return len(self._unacked)

    def knows(self, sequence_id: int) -> bool:
        """Whether a report of this number or a later one was sent and, by a Router that acknowledges, acknowledged."""
        if self.max_unacked is None:
            return self._newest_sent >= sequence_id
        return self._newest_acked >= sequence_id

    @property
    def has_credit(self) -> bool:
        """Whether one more report may be in flight."""
        return self.max_unacked is None or len(self._unacked) < self.max_unacked

    def offer(self, sequence_id: int, frame: bytes) -> bool:
        """Queue a report in the slot of one; return whether it displaced an older one that was never sent."""
        displaced = self._report is not None
        if self.max_unacked is not None:
            if self._report is not None:
                self._unacked.pop()
            self._unacked.append(sequence_id)
        self._report = (sequence_id, frame)
        self.on_ready()
        return displaced

    def acknowledge(self, sequence_id: int) -> bool:
        """Free the credit of every report up to `sequence_id`; return False for one that was never sent."""
        if sequence_id > self._newest_sent:
            return False
        self._newest_acked = max(self._newest_acked, sequence_id)
        while self._unacked and self._unacked[0] <= sequence_id:
            del self._unacked[0]
        return True

    # Outbox

    def send(self, frame: bytes) -> None:
        """Queue a frame that is not a report, ahead of any report that waits."""
        self._control.append(frame)
        self.on_ready()

    def end(self, last_frame: bytes | None) -> None:
        """End the stream after `last_frame` (an error), or in silence; a report that waits is dropped."""
        if self.ended:
            return
        self.ended = True
        self._report = None
        if last_frame is not None:
            self._control.append(last_frame)
        self.on_ready()

    def take(self) -> bytes | None:
        """Return the next frame to write, or None when nothing waits."""
        if self._control:
            return self._control.pop(0)
        if self._report is None:
            return None
        self._newest_sent, frame = self._report
        self._report = None
        return frame


class OrcaSession(Session):
    """One stream of an ORCA client: it never registers, acknowledges or renews anything, and lasts as long as its call."""

    is_orca = True

    __slots__ = ()

    def subscribe(self, *, interval_ns: int, anchor_ns: int, now_ns: int) -> None:
        """Take reports from now on: the first is due at once, later ones at multiples of the interval after `anchor_ns`."""
        self.open(
            f"ORCA client {self.peer}",
            interval_ns=interval_ns,
            lease_ns=_FOREVER_NS,
            max_unacked=None,
            anchor_ns=anchor_ns,
            now_ns=now_ns,
        )
