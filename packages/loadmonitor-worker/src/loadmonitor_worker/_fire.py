"""The fire loop: the reporter's only timer. At a deadline: one pull, one report, one encoding, offered to all due sessions."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from loadmonitor_proto import StreamErrorCode
from loadmonitor_worker._journal import SessionJournal, StatusJournal
from loadmonitor_worker._meter import Meter
from loadmonitor_worker._orca import orca_report
from loadmonitor_worker._pull import Puller
from loadmonitor_worker._report import ReportBuilder, error_frame
from loadmonitor_worker._table import SessionTable
from loadmonitor_worker._verdict import Attempt, ReportStatus, judge
from loadmonitor_worker.interfaces import Clock, TimerHandle

Follower = Callable[[Attempt], None]
_FOLLOWED_EVERY_NS = 200_000_000


@dataclass(slots=True)
class ReporterCounters:
    """What a reporter has done since it started.

    Attributes:
        fires: Deadlines at which the source was read.
        coalesced_reports: Reports that a session did not get: it had no credit, or a newer one took the slot.
        clamped_values: Values above their capacity that were capped (`overshoot="clamp"`).
    """

    fires: int = 0
    coalesced_reports: int = 0
    clamped_values: int = 0


class FireLoop:
    """Drives the sessions of a table; they are passive and are only offered reports.

    It is a chain of callbacks: `step` looks at the table and either sets the timer for the next moment that matters or starts
    a pull, whose delivery steps again. While a pull is under way, its budget is the timer.

    Attributes:
        counters: What it has done.
        last_status: Of the newest report; None before the first.
        meter: Told of every fire, where somebody measures.
    """

    def __init__(
        self,
        table: SessionTable,
        puller: Puller,
        builder: ReportBuilder,
        clock: Clock,
        journal: SessionJournal,
        *,
        stale_after_ms: int,
    ) -> None:
        self._table = table
        self._puller = puller
        self._builder = builder
        self._clock = clock
        self._journal = journal
        self._status = StatusJournal()
        self._stale_after_ms = stale_after_ms
        self._loop = asyncio.get_running_loop()
        self._timer: TimerHandle | None = None
        self._step_is_due = False
        self._ended = False
        self._followers: list[Follower] = []
        self._follow_at_ns = 0
        self.counters = ReporterCounters()
        self.last_status: ReportStatus | None = None
        self.meter: Meter | None = None

    def changed(self) -> None:
        """Look at the table soon; sessions that change within one pass of the event loop share the look."""
        if not self._step_is_due and not self._ended:
            self._step_is_due = True
            self._loop.call_soon(self._step)

    def follow(self, follower: Follower) -> None:
        """Call `follower` with the outcome of every read, and read at least five times a second, whether or not anybody is due."""
        self._followers.append(follower)
        self._follow_at_ns = self._clock.monotonic_ns()
        self.changed()

    def unfollow(self, follower: Follower) -> None:
        """Call `follower` no more."""
        self._followers.remove(follower)
        self.changed()

    def end(self) -> None:
        """Stop for good: no timer, no pull, no step after this."""
        self._ended = True
        self._puller.abort()
        self._set_timer(None)

    def _set_timer(self, when_ns: int | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if when_ns is None else self._clock.call_at(when_ns, self._step)

    def _step(self) -> None:
        self._step_is_due = False
        if self._ended or self._puller.pulling:
            return
        now_ns = self._clock.monotonic_ns()
        for session in self._table.lapsed(now_ns):
            message = f"no frame arrived within the lease of {session.lease_ns // 1_000_000} ms"
            self._journal.failed(session, StreamErrorCode.LEASE_EXPIRED, message)
            session.end(error_frame(StreamErrorCode.LEASE_EXPIRED, message))
        due = self._table.due(now_ns)
        followed = bool(self._followers) and self._follow_at_ns <= now_ns
        if followed or any(session.has_credit for session in due):
            self._set_timer(None)
            if self.meter is not None and due:
                deadline_ns = min(session.deadline_ns for session in due)
                self.meter.fire_lag_seconds.observe((now_ns - deadline_ns) / 1e9)
            self._puller.pull(self._deliver)
            return
        for session in due:
            session.skip(now_ns)
        self.counters.coalesced_reports += len(due)
        wake_ns = self._table.next_wake(now_ns)
        if self._followers:
            wake_ns = self._follow_at_ns if wake_ns is None else min(wake_ns, self._follow_at_ns)
        self._set_timer(wake_ns)

    def _deliver(self, attempt: Attempt) -> None:
        # Who receives the report is decided now: sessions came, changed, lapsed or earned credit during the pull.
        now_ns = self._clock.monotonic_ns()
        due = self._table.due(now_ns)
        now_unix_ms = self._clock.unix_ms()
        verdict = judge(attempt, now_unix_ms=now_unix_ms, stale_after_ms=self._stale_after_ms)
        frame = self._builder.build(attempt, verdict, now_unix_ms=now_unix_ms, active_routers=len(self._table))
        self.counters.fires += 1
        self.counters.clamped_values += attempt.clamped
        sequence_id = self._builder.sequence_id
        orca = b""
        if any(session.is_due(now_ns) for session in self._table.orca):
            orca = orca_report(attempt, verdict, sequence_id=sequence_id, worker_state=self._builder.worker_state)
        offered = 0
        for session in due:
            session.skip(now_ns)
            if session.is_orca:
                session.offer(sequence_id, orca)
            elif session.has_credit:
                offered += 1
                self.counters.coalesced_reports += session.offer(sequence_id, frame)
            else:
                self.counters.coalesced_reports += 1
        self.last_status = verdict.status
        self._status.note(verdict, now_ns)
        if self.meter is not None:
            self.meter.reported(verdict, pull_ns=now_ns - self._puller.started_ns, routers=offered)
        if self._followers:
            self._follow_at_ns = now_ns + _FOLLOWED_EVERY_NS
            for follower in list(self._followers):
                follower(attempt)
        self._step()
