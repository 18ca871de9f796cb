"""The fire loop: the reporter's only timer. At a deadline: one pull, one report, one encoding, offered to all due sessions."""

from dataclasses import dataclass

from loadmonitor_proto import StreamErrorCode
from loadmonitor_worker._alarm import Alarm
from loadmonitor_worker._protocol import Monitor
from loadmonitor_worker._pull import Puller
from loadmonitor_worker._report import ReportBuilder
from loadmonitor_worker._table import SessionTable
from loadmonitor_worker._verdict import judge
from loadmonitor_worker.interfaces import Clock


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
    """Drives the sessions of a table; they are passive and are only offered reports."""

    def __init__(
        self,
        table: SessionTable,
        monitor: Monitor,
        puller: Puller,
        builder: ReportBuilder,
        alarm: Alarm,
        clock: Clock,
        *,
        stale_after_ms: int,
    ) -> None:
        self._table = table
        self._monitor = monitor
        self._puller = puller
        self._builder = builder
        self._alarm = alarm
        self._clock = clock
        self._stale_after_ms = stale_after_ms
        self.counters = ReporterCounters()

    async def run(self) -> None:
        """Fire for ever; cancel to stop."""
        while True:
            await self._alarm.sleep_until(self._table.next_wake(self._clock.monotonic_ns()))
            now_ns = self._clock.monotonic_ns()
            for session in self._table.lapsed(now_ns):
                message = f"no frame arrived within the lease of {session.lease_ns // 1_000_000} ms"
                self._monitor.fail(session, StreamErrorCode.LEASE_EXPIRED, message)
            due = self._table.due(now_ns)
            if any(session.has_credit for session in due):
                await self._fire()
            else:
                for session in due:
                    session.skip(now_ns)
                self.counters.coalesced_reports += len(due)

    async def _fire(self) -> None:
        attempt = await self._puller.pull()
        # Who receives the report is decided now: sessions came, changed, lapsed or earned credit during the pull.
        now_ns = self._clock.monotonic_ns()
        due = self._table.due(now_ns)
        now_unix_ms = self._clock.unix_ms()
        verdict = judge(attempt, now_unix_ms=now_unix_ms, stale_after_ms=self._stale_after_ms)
        frame = self._builder.build(attempt, verdict, now_unix_ms=now_unix_ms, active_routers=len(self._table))
        self.counters.fires += 1
        self.counters.clamped_values += attempt.clamped
        for session in due:
            session.skip(now_ns)
            if not session.has_credit or session.offer(self._builder.sequence_id, frame):
                self.counters.coalesced_reports += 1
