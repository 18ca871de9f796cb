"""What docs/contract.md asks of a reporter, as plainly as it can be said: no timers, no tasks, no bytes.

Time is in nanoseconds. A frame for a Router is a tuple: `("registered", interval_ms, lease_ms)`, `("report", sequence_id)` or
`("error", code)`.
"""

from dataclasses import dataclass, field

from loadmonitor_worker._session import LEASE_GRACE_NS

MS = 1_000_000
MIN_INTERVAL_MS = 10
MIN_LEASE_MS, MAX_LEASE_MS = 2, 5_000
MAX_SESSIONS = 4
FRAMES_PER_SECOND = 20
BUDGET_MS = 200
MOST_LOOKS = 3

Frame = tuple[str, int, int] | tuple[str, int] | tuple[str, str]


RANKS_OFF_BY = {"a rank missing": -1, "a rank too many": 1}


@dataclass
class Script:
    """What the source does when it is read next.

    Attributes:
        waits: It answers only once it is released.
        stubborn: It ignores being cancelled meanwhile.
        outcome: "fresh", "old" or "undated" ranks, one of `RANKS_OFF_BY`, or the name of something that fails.
        dp_size: How many ranks it has.
    """

    waits: bool = False
    stubborn: bool = False
    outcome: str = "fresh"
    dp_size: int = 1

    @property
    def fails(self) -> bool:
        """Whether reading raises, or returns no sequence."""
        return self.outcome not in {"fresh", "old", "undated", *RANKS_OFF_BY}

    @property
    def answers(self) -> int:
        """How many ranks it answers with, unless it fails."""
        return self.dp_size + RANKS_OFF_BY.get(self.outcome, 0)


@dataclass
class Read:
    """A read of the source that is under way."""

    until_ns: int
    dp_size: int
    stubborn: bool
    retried: bool = False


@dataclass
class Report:
    """A report that was built."""

    time_ns: int
    status: str
    dp_size: int
    routers: int


@dataclass(eq=False)
class Stream:
    """One Router's stream."""

    router_id: str | None = None
    ended: bool = False
    window: int | None = None
    interval_ns: int = 0
    lease_ns: int = 0
    lease_ends_ns: int = 0
    look_ns: int = 0
    looks: int = 0
    anchor_ns: int = 0
    period: int = -1  # of the last deadline that was met or skipped
    sent: list[int] = field(default_factory=list)
    acked: int = 0
    control: list[Frame] = field(default_factory=list)
    waiting: int | None = None
    allowance_ns: int = 1_000_000_000  # of frames, each of which costs its share of a second
    last_frame_ns: int = 0

    def take(self) -> Frame | None:
        """The next frame that goes out."""
        if self.control:
            return self.control.pop(0)
        if self.waiting is None:
            return None
        self.sent.append(self.waiting)
        self.waiting = None
        return ("report", self.sent[-1])

    def period_at(self, now_ns: int) -> int:
        return (now_ns - self.anchor_ns) // self.interval_ns

    def is_due(self, now_ns: int) -> bool:
        return now_ns < self.lease_ends_ns and self.period_at(now_ns) > self.period

    def has_credit(self) -> bool:
        in_flight = sum(sequence_id > self.acked for sequence_id in self.sent) + (self.waiting is not None)
        return self.window is None or in_flight < self.window

    def renew(self, now_ns: int) -> None:
        self.lease_ends_ns = self.look_ns = now_ns + self.lease_ns
        self.looks = 0

    def needed_by(self, now_ns: int) -> int:
        """By when the reporter must look at this stream again."""
        if now_ns >= self.lease_ends_ns:
            return self.look_ns
        return min(self.anchor_ns + (self.period + 1) * self.interval_ns, self.lease_ends_ns)


class Model:
    """A reporter's streams and its reads."""

    def __init__(self, script: Script, *, epoch: bool) -> None:
        self.script = script
        self.epoch = epoch
        self.told_dp_size: int | None = None  # by update_expected_dp_ranks
        self.open: list[Stream] = []
        self.registered: dict[str, Stream] = {}
        self.reports: list[Report] = []
        self.read: Read | None = None
        self.left_behind = False  # a read that went on after its pull was over
        self.reads = 0
        self.coalesced = 0  # reports that a session didn't get
        self.closed = False

    # Streams

    def opened(self, stream: Stream) -> None:
        self.open.append(stream)
        if self.closed:
            self.end(stream, "SHUTTING_DOWN")

    def gone(self, stream: Stream) -> None:
        self.end(stream, None)
        self.open.remove(stream)

    def end(self, stream: Stream, code: str | None) -> None:
        if not stream.ended:
            stream.ended = True
            stream.waiting = None
            if stream.router_id is not None:
                del self.registered[stream.router_id]
            if code is not None:
                stream.control.append(("error", code))

    def close(self) -> None:
        self.closed = True
        for stream in self.open:
            self.end(stream, "SHUTTING_DOWN")
        if self.read is not None:
            self.left_behind = self.read.stubborn
            self.read = None

    # Frames

    def admits(self, stream: Stream, now_ns: int, *, first: bool = False) -> bool:
        """Whether a frame is to be acted on; `first` if it may be the stream's first."""
        if stream.ended:
            return False
        passed_ns, stream.last_frame_ns = now_ns - stream.last_frame_ns, now_ns
        stream.allowance_ns = min(1_000_000_000, stream.allowance_ns + passed_ns) - 1_000_000_000 // FRAMES_PER_SECOND
        if stream.allowance_ns < 0:
            self.end(stream, "RESOURCE_EXHAUSTED")
        elif stream.router_id is None and not first:
            self.end(stream, "INVALID_FIRST_FRAME")
        return not stream.ended

    def register(
        self, stream: Stream, router_id: str, interval_ms: int, lease_ms: int, window: int | None, now_ns: int
    ) -> None:
        if not self.admits(stream, now_ns, first=True):
            return
        if (
            not router_id.strip()
            or stream.router_id not in {None, router_id}
            or interval_ms <= 0
            or lease_ms <= 0
            or window == 0
        ):
            self.end(stream, "INVALID_ARGUMENT")
        elif stream.router_id is not None:
            self.change(stream, interval_ms, lease_ms, now_ns)
        else:
            self.admit_session(stream, router_id, window, now_ns)
            if not stream.ended:
                self.change(stream, interval_ms, lease_ms, now_ns)
                stream.period = -1
                stream.control.append(("registered", stream.interval_ns // MS, stream.lease_ns // MS))

    def admit_session(self, stream: Stream, router_id: str, window: int | None, now_ns: int) -> None:
        older = self.registered.get(router_id)
        if sum(other.router_id is not None for other in self.open if other is not older) >= MAX_SESSIONS:
            self.end(stream, "RESOURCE_EXHAUSTED")
            return
        if older is not None:
            self.end(older, "SESSION_REPLACED")
        self.registered[router_id] = stream
        stream.router_id, stream.window = router_id, window
        stream.anchor_ns = 0 if self.epoch else now_ns

    def update(self, stream: Stream, interval_ms: int | None, lease_ms: int | None, now_ns: int) -> None:
        if self.admits(stream, now_ns):
            if (interval_ms is not None and interval_ms <= 0) or (lease_ms is not None and lease_ms <= 0):
                self.end(stream, "INVALID_ARGUMENT")
            else:
                self.change(stream, interval_ms, lease_ms, now_ns)

    def change(self, stream: Stream, interval_ms: int | None, lease_ms: int | None, now_ns: int) -> None:
        if interval_ms is not None and (interval_ns := max(interval_ms, MIN_INTERVAL_MS) * MS) != stream.interval_ns:
            stream.interval_ns = interval_ns
            stream.period = stream.period_at(now_ns)
        if lease_ms is not None:
            stream.lease_ns = min(max(lease_ms, MIN_LEASE_MS), MAX_LEASE_MS) * MS
        stream.renew(now_ns)

    def keep_alive(self, stream: Stream, acked: int | None, now_ns: int) -> None:
        if self.admits(stream, now_ns):
            if acked is not None and acked > max(stream.sent, default=0):
                self.end(stream, "INVALID_ARGUMENT")
            else:
                stream.acked = max(stream.acked, acked or 0)
                stream.renew(now_ns)

    def stop(self, stream: Stream, now_ns: int) -> None:
        if self.admits(stream, now_ns):
            self.end(stream, None)

    def empty_frame(self, stream: Stream, now_ns: int) -> None:
        if self.admits(stream, now_ns, first=True):
            self.end(stream, "INVALID_ARGUMENT")

    # Reads and reports

    def dp_size(self) -> int:
        """How many ranks make an answer complete."""
        return self.script.dp_size if self.told_dp_size is None else self.told_dp_size

    def look(self, now_ns: int) -> None:
        """What a reporter does that is awake now."""
        if self.closed:
            return
        if self.read is not None:
            if now_ns < self.read.until_ns:
                return
            self.left_behind = self.read.stubborn
            self.report(now_ns, "UNREACHABLE")
        for stream in list(self.registered.values()):
            self.judge_lease(stream, now_ns)
        due = [stream for stream in self.registered.values() if stream.is_due(now_ns)]
        if not any(stream.has_credit() for stream in due):
            for stream in due:
                stream.period = stream.period_at(now_ns)
                self.coalesced += 1
        elif self.left_behind:
            self.report(now_ns, "UNREACHABLE")
        else:
            self.read = Read(now_ns + BUDGET_MS * MS, self.dp_size(), self.script.stubborn)
            self.asked(now_ns)

    def judge_lease(self, stream: Stream, now_ns: int) -> None:
        """Two looks a grace apart, of which the second is on time or the last of a few."""
        if now_ns < stream.look_ns:
            return
        is_late = now_ns - stream.look_ns > LEASE_GRACE_NS
        if stream.looks == 0 or (is_late and stream.looks < MOST_LOOKS):
            stream.looks += 1
            stream.look_ns = now_ns + LEASE_GRACE_NS
        else:
            self.end(stream, "LEASE_EXPIRED")

    def asked(self, now_ns: int) -> None:
        self.reads += 1
        if not self.script.waits:
            self.answered(now_ns)

    def answered(self, now_ns: int) -> None:
        """The read under way ends as the script says."""
        assert self.read is not None
        if self.script.fails:
            self.report(now_ns, "UNREACHABLE")
        elif self.read.dp_size == self.dp_size():
            complete = "STALE" if self.script.outcome in {"old", "undated"} else "HEALTHY"
            self.report(now_ns, complete if self.script.answers == self.dp_size() else "UNREACHABLE")
        elif self.read.retried:
            self.report(now_ns, "UNREACHABLE")
        else:
            self.read = Read(self.read.until_ns, self.dp_size(), self.script.stubborn, retried=True)
            self.asked(now_ns)

    def report(self, now_ns: int, status: str) -> None:
        self.read = None
        dp_size = 0 if status == "UNREACHABLE" else self.dp_size()
        self.reports.append(Report(now_ns, status, dp_size, len(self.registered)))
        for stream in self.registered.values():
            if stream.is_due(now_ns):
                stream.period = stream.period_at(now_ns)
                self.coalesced += not stream.has_credit() or stream.waiting is not None
                if stream.has_credit():
                    stream.waiting = len(self.reports)

    def needed_by(self, now_ns: int) -> int | None:
        """By when the reporter must be awake again; None if nothing is to be done."""
        if self.read is not None:
            return self.read.until_ns
        return min((stream.needed_by(now_ns) for stream in self.registered.values()), default=None)
