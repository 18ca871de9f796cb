"""What becomes of sessions and of the engine: counted, and logged when it changes."""

import logging
from collections import Counter
from typing import Final

from loadmonitor_proto import StreamErrorCode
from loadmonitor_worker._describe import line_of
from loadmonitor_worker._session import Session
from loadmonitor_worker._verdict import ReportStatus, Verdict

_logger = logging.getLogger(__name__)

SESSION_EVENTS: Final = ("registered", "stopped", "lost", "lease_expired", "replaced", "shut_down")
_EVENT_BY_CODE: Final = {
    StreamErrorCode.LEASE_EXPIRED: "lease_expired",
    StreamErrorCode.SESSION_REPLACED: "replaced",
    StreamErrorCode.SHUTTING_DOWN: "shut_down",
}
REFUSALS: Final = tuple(code for code in StreamErrorCode if code not in _EVENT_BY_CODE)
"""Codes that end a stream because of what its router did."""

RECOVERED_AFTER_NS: Final = 5_000_000_000
"""An engine that has been HEALTHY for so long has recovered: one that flickers isn't told at every flicker."""


class SessionJournal:
    """Counts and logs what becomes of sessions; a session's records carry `router_id` and `peer`."""

    def __init__(self) -> None:
        self.events: Counter[str] = Counter(dict.fromkeys(SESSION_EVENTS, 0))
        self.refused: Counter[str] = Counter({str(code): 0 for code in REFUSALS})

    def registered(self, session: Session, *, interval_ms: int, lease_ms: int) -> None:
        """A Router registered."""
        self.events["registered"] += 1
        self._log(
            logging.INFO,
            session,
            f"router {session.router_id!r} registered: a report every {interval_ms} ms, lease {lease_ms} ms",
        )

    def failed(self, session: Session, code: StreamErrorCode, message: str) -> None:
        """A stream was ended with an error."""
        event = _EVENT_BY_CODE.get(code)
        if event is None:
            self.refused[code] += 1
            who = f"a router at {session.peer}" if session.router_id is None else f"router {session.router_id!r}"
            self._log(logging.WARNING, session, f"{who} refused, {code}: {message}")
        elif session.router_id is not None:
            self.events[event] += 1
            level = logging.DEBUG if code is StreamErrorCode.SHUTTING_DOWN else logging.INFO
            self._log(level, session, f"session of router {session.router_id!r} ended, {code}: {message}")

    def left(self, session: Session, *, stopped: bool) -> None:
        """A stream ended without an error: its Router stopped it, or was lost."""
        if session.router_id is not None:
            self.events["stopped" if stopped else "lost"] += 1
            how = "stopped its session" if stopped else "was lost"
            self._log(logging.INFO, session, f"router {session.router_id!r} {how}")

    @staticmethod
    def _log(level: int, session: Session, message: str) -> None:
        _logger.log(level, "%s", message, extra={"router_id": session.router_id, "peer": session.peer})


class StatusJournal:
    """Logs the status of reports when it changes: once when the engine's load is lost, once when it is back for good."""

    def __init__(self) -> None:
        self._told = ReportStatus.HEALTHY
        self._bad_since_ns = 0
        self._last_bad_ns = 0
        self._bad_reports = 0

    def note(self, verdict: Verdict, now_ns: int) -> None:
        """Take in the verdict of one report."""
        status = verdict.status
        if status is ReportStatus.HEALTHY:
            if self._told is not ReportStatus.HEALTHY and now_ns - self._last_bad_ns >= RECOVERED_AFTER_NS:
                self._told = ReportStatus.HEALTHY
                seconds = (self._last_bad_ns - self._bad_since_ns) / 1e9
                _logger.info(
                    "the engine's load is HEALTHY again: %d reports in %.1f s were not", self._bad_reports, seconds
                )
            return
        if self._told is ReportStatus.HEALTHY:
            self._bad_since_ns = now_ns
            self._bad_reports = 0
        self._last_bad_ns = now_ns
        self._bad_reports += 1
        # A worse trouble is news; the way back from it is told when it is over.
        if self._told is ReportStatus.HEALTHY or (
            status is ReportStatus.UNREACHABLE and self._told is ReportStatus.STALE
        ):
            self._told = status
            _logger.warning("the engine's load is %s: %s", status, line_of(verdict.last_error or ""))
