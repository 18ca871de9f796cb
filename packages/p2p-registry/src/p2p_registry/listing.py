"""Which workers a listing shows, and in which order."""

from collections.abc import Iterable
from dataclasses import dataclass

from p2p_registry.records import SourceStatus, WorkerSummary

HEARTBEAT_TIMEOUT_MS = 90_000
"""Age of a heartbeat from which its worker counts as gone: three heartbeats of modelexpress' publishers."""

CLOCKS_AGREE_MS = HEARTBEAT_TIMEOUT_MS
"""Most by which a stored time may be ahead of a clock that is read now. One that is further ahead is of a clock that was set back."""


def is_older(updated_at_ms: int, stored_at_ms: int) -> bool:
    """Return whether an update loses to the stored state, because another replica stored that one later.

    One that seems older by more than `CLOCKS_AGREE_MS` isn't: else a clock that was ahead, and was set right, would leave a worker with
    the load and status of then until that time comes.
    """
    return 0 < stored_at_ms - updated_at_ms <= CLOCKS_AGREE_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class ListingFilter:
    """What a puller asked for; None doesn't filter.

    Attributes:
        status: Only workers in this state; READY hides those with an old heartbeat, too.
        model_name: Only workers of the model with exactly this name.
        worker_rank: Only workers whose last published rank is this one.
        min_training_step: Only workers with weights of this training step or a later one; those that name no step are left out.
        min_updated_at_ms: Only workers updated at this time or later, in milliseconds since the Unix epoch.
        limit: At most this many, the newest; 0 limits nothing, as on modelexpress' server.
    """

    status: SourceStatus | None = None
    model_name: str | None = None
    worker_rank: int | None = None
    min_training_step: int | None = None
    min_updated_at_ms: int | None = None
    limit: int | None = None


def select(summaries: Iterable[WorkerSummary], wanted: ListingFilter, now_ms: int) -> list[WorkerSummary]:
    """Return the summaries that `wanted` lets through, newest first.

    Equally new ones are ordered by source and worker id, so the answer doesn't depend on the replica or on its store. A READY
    worker whose time is in the future is shown, because its replica's clock is ahead of this one; but not one whose time is further
    ahead than clocks may differ, because nobody knows how old that is.

    Args:
        summaries: What the store holds, in any order.
        wanted: What to show.
        now_ms: The time on the service's clock, in milliseconds since the Unix epoch.
    """
    kept = sorted((s for s in summaries if _wanted(s, wanted, now_ms)), key=_newest_first)
    return kept[: wanted.limit or None]


def _newest_first(summary: WorkerSummary) -> tuple[int, str, str]:
    return -summary.state.updated_at_ms, summary.key.source_id, summary.key.worker_id


def _wanted(summary: WorkerSummary, wanted: ListingFilter, now_ms: int) -> bool:
    state = summary.state
    if wanted.status is not None and state.status != wanted.status:
        return False
    if wanted.status == SourceStatus.READY and (
        state.updated_at_ms <= 0 or not -CLOCKS_AGREE_MS <= now_ms - state.updated_at_ms <= HEARTBEAT_TIMEOUT_MS
    ):
        return False
    if wanted.model_name is not None and summary.model_name != wanted.model_name:
        return False
    if wanted.worker_rank is not None and summary.key.worker_rank != wanted.worker_rank:
        return False
    step = summary.training_step
    if wanted.min_training_step is not None and (step is None or step < wanted.min_training_step):
        return False
    return wanted.min_updated_at_ms is None or state.updated_at_ms >= wanted.min_updated_at_ms
