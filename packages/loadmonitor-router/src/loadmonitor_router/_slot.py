"""The reports that wait for the consumer: the newest ones, as many as may be under way at once."""

from collections import deque

from loadmonitor_router._stream import StreamSession
from loadmonitor_router.reports import WorkerReport


class ReportSlot:
    """Keeps reports in order, each with the stream that is to acknowledge it.

    Attributes:
        superseded: Reports that nobody took before newer ones needed their place.
    """

    def __init__(self) -> None:
        self._kept: deque[tuple[StreamSession, WorkerReport]] = deque()
        self.superseded = 0

    def __len__(self) -> int:
        return len(self._kept)

    def keep(self, session: StreamSession, report: WorkerReport) -> None:
        """Keep a report, in place of the oldest when there is no room."""
        while len(self._kept) >= session.window:
            older_session, older = self._kept.popleft()
            older_session.processed(older.sequence_id)
            self.superseded += 1
        self._kept.append((session, report))

    def take(self) -> tuple[WorkerReport, bool]:
        """Return the oldest report, which counts as processed now, and whether its stream has something to send for it."""
        session, report = self._kept.popleft()
        return report, session.processed(report.sequence_id)

    def clear(self) -> None:
        """Forget all."""
        self._kept.clear()
