"""Who is registered: admission, replacement, and which sessions need the loop when. No I/O, no clock."""

from collections.abc import Iterator
from itertools import chain

from loadmonitor_worker._session import OrcaSession, Session


class SessionTable:
    """The registered sessions, at most one a router_id, and beside them those of ORCA clients.

    Attributes:
        open_streams: Every open stream, registered or not, also one that ended and lingers on a blocked peer.
        orca: The sessions of ORCA clients; they are no routers, and don't count among the registered ones.
    """

    def __init__(self, max_sessions: int) -> None:
        self.max_sessions = max_sessions
        self.open_streams: set[Session] = set()
        self.orca: set[OrcaSession] = set()
        self._registered: dict[str, Session] = {}

    def __len__(self) -> int:
        return len(self._registered)

    def holder(self, router_id: str) -> Session | None:
        """Return the session that holds `router_id`."""
        return self._registered.get(router_id)

    def add(self, session: Session) -> None:
        """Register an opened session in place of whoever held its router_id."""
        assert session.router_id is not None
        self._registered[session.router_id] = session

    def remove(self, session: Session) -> None:
        """Forget a session; one that was replaced meanwhile leaves its successor alone."""
        if session.router_id is not None and self._registered.get(session.router_id) is session:
            del self._registered[session.router_id]

    def hurry(self, now_ns: int) -> None:
        """Make a report due now for every session."""
        for session in self._reported_to():
            session.hurry(now_ns)

    def unacked(self) -> int:
        """Return the reports that acknowledging sessions were offered and have not acknowledged."""
        return sum(session.unacked for session in list(self._registered.values()))

    def unaware_of(self, sequence_id: int) -> list[str]:
        """Return the router_ids of the sessions that may not know of the report with this number, or a later one."""
        return [str(session.router_id) for session in self._reported_to() if not session.knows(sequence_id)]

    def next_wake(self, now_ns: int) -> int | None:
        """Return when the loop is needed next, or None while nobody is reported to."""
        return min((session.wake_at(now_ns) for session in self._reported_to()), default=None)

    def due(self, now_ns: int) -> list[Session]:
        """Return the sessions whose report is due."""
        return [session for session in self._reported_to() if session.is_due(now_ns)]

    def lapsed(self, now_ns: int) -> Iterator[Session]:
        """Yield, and forget, the sessions whose lease has run out."""
        for session in [s for s in self._registered.values() if s.judge_lease(now_ns)]:
            self.remove(session)
            yield session

    def _reported_to(self) -> Iterator[Session]:
        return chain(self._registered.values(), self.orca)
