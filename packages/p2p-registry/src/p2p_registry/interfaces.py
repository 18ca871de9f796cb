"""What the registry needs of a store and whom it tells of the calls that it answers, and what a publisher needs of a clock."""

import asyncio
from collections.abc import Sequence
from enum import Enum
from typing import Protocol

from google.protobuf.message import Message

from p2p_registry.records import WorkerKey, WorkerRecord, WorkerState, WorkerSummary


class UpdateOutcome(Enum):
    """What became of a status update.

    APPLIED: the record has the new state. OLDER: it has a later one, and keeps it. NOT_REGISTERED: there is no such record.
    """

    APPLIED = "applied"
    OLDER = "older"
    NOT_REGISTERED = "not registered"


class Backend(Protocol):
    """A store that several replicas of the service may share; each method is one atomic step of it.

    Every method raises `BackendError` when the store fails, and then nothing is known of the step.
    """

    async def publish(self, record: WorkerRecord) -> None:
        """Store `record` in place of the one with its key, state included; its rank is the worker's last published one."""

    async def update_state(self, key: WorkerKey, state: WorkerState) -> UpdateOutcome:
        """Replace the state of a record by `state`, its load too when that is None.

        A state older than the stored one is ignored, as `p2p_registry.listing.is_older` says; of two with the same time the later call
        counts. The cost must not grow with the size of the record.
        """

    async def get(self, source_id: str, worker_id: str) -> WorkerRecord | None:
        """Return the record of the worker's last published rank, or None when there is no such worker."""

    async def summaries(self, source_id: str | None) -> Sequence[WorkerSummary]:
        """Return one summary for each worker, that of its last published rank, in any order.

        Args:
            source_id: Limits the answer to workers of one source; None doesn't.
        """

    async def mark_stale(self, source_id: str, worker_id: str, not_after_ms: int) -> bool:
        """Mark the worker's ranks STALE that are READY or INITIALIZING and weren't updated after `not_after_ms`.

        Time and load stay as they are, so that a second replica that does the same changes nothing.

        Returns:
            Whether a rank was marked.
        """

    async def remove(self, source_id: str, worker_id: str, not_after_ms: int) -> bool:
        """Remove the worker unless one of its ranks was updated after `not_after_ms`.

        Returns:
            Whether it was removed.
        """

    async def ping(self) -> None:
        """Return when the store answers."""

    async def aclose(self) -> None:
        """Let go of the store, what it keeps written first; the backend isn't used afterwards. A second call does nothing."""


class CallObserver(Protocol):
    """Whoever counts calls."""

    def answered(self, method: str, code: str, seconds: float, request: Message | None, answer: Message | None) -> None:
        """Take note of a call that has ended.

        Args:
            method: Its name, such as `UpdateStatus`.
            code: gRPC's name of its status, such as `OK`; a refusal in an answer is OK, too.
            seconds: Time from the request to the answer, the store's part included.
            request: The request, or None where the call was refused before it was read, or it can't be read.
            answer: The answer, or None where the code isn't OK.
        """


class PublisherClock(Protocol):
    """The time that a publisher works by."""

    def monotonic(self) -> float:
        """Return the seconds of a clock that never goes back."""

    async def wait_until(self, when: float, stopping: asyncio.Event) -> None:
        """Return when the clock shows `when` or `stopping` is set, whichever comes first."""
