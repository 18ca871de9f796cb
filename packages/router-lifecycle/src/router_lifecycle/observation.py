"""What is known of one worker at one moment: the router's answer about it, and its entries in the router's list.

Neither alone proves anything. A worker that has just been accepted can be missing in both, a record of failure can sit on a healthy
worker, and a missing record has six meanings. Both together, over time, do: the state machines are fed with observations.
"""

from enum import StrEnum

from pydantic import BaseModel

from router_lifecycle.models import JobStatus, WorkerRow


class RecordState(StrEnum):
    """What the router answered about one worker."""

    PRESENT = "present"
    """It has the worker."""
    ABSENT = "absent"
    """It knows no such worker."""
    UNREAD = "unread"
    """It gave no answer that says either."""


class Observation(BaseModel, frozen=True):
    """One look at one worker; what could not be read is None, never empty.

    Attributes:
        seen_at_unix_seconds: When the look ended, on the client's clock.
        record_state: Whether the router has an answer about the worker; UNREAD when it wasn't asked or nothing usable came back.
        record: That answer.
        rows: The worker's entries in the list, by rank; () when the list doesn't hold it, None when the list could not be read, or
            wasn't since the answer about the worker said enough.
        faults: Why something could not be read.
        unreachable: Whether no request reached the router at all.
        unanswered: Whether no request was answered, be it that it didn't reach the router.
        retry_after_seconds: How long the router asked to be left alone, or None.
    """

    seen_at_unix_seconds: float
    record_state: RecordState = RecordState.UNREAD
    record: WorkerRow | None = None
    rows: tuple[WorkerRow, ...] | None = None
    faults: tuple[str, ...] = ()
    unreachable: bool = False
    unanswered: bool = False
    retry_after_seconds: float | None = None

    @property
    def job(self) -> JobStatus | None:
        """The record of the last job on the URL, or None when there is none or it could not be read."""
        return self.record.job_status if self.record else None

    def __str__(self) -> str:
        if self.record_state is RecordState.PRESENT and self.record:
            record = f"asked for it, it has {self._row(self.record)}"
            record += f", job {self.job}" if self.job else ", no job"
        elif self.record_state is RecordState.ABSENT:
            record = "asked for it, it knows none"
        else:
            record = "no answer about it"
        if self.rows is None:
            listed = "its list could not be read" if self.faults else "its list was not needed"
        else:
            listed = f"it lists {', '.join(map(self._row, self.rows)) or 'none'}"
        return "; ".join((record, listed, *self.faults))

    @staticmethod
    def _row(row: WorkerRow) -> str:
        word = row.status or {True: "healthy", False: "unhealthy", None: "of unknown health"}[row.is_healthy]
        return f"{row.url} ({word})"
