"""The embedded store: a dictionary in this process, for a laptop, a test or a small cluster with one replica."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from p2p_registry.interfaces import UpdateOutcome
from p2p_registry.listing import is_older
from p2p_registry.records import SourceStatus, WorkerKey, WorkerRecord, WorkerState, WorkerSummary


@dataclass(slots=True)
class _Worker:
    ranks: dict[int, WorkerRecord]
    last_published: int


class MemoryBackend:
    """A `Backend` that forgets everything when the process ends; sources then publish again by themselves.

    Services in one event loop may share it; it isn't for use from several threads.
    """

    def __init__(self, records: Iterable[WorkerRecord] = ()) -> None:
        """Begin with `records`, as if they were published in this order."""
        self._sources: dict[str, dict[str, _Worker]] = {}
        for record in records:
            self._put(record)

    def records(self) -> list[WorkerRecord]:
        """Return every record, in an order in which they can be published again: a worker's last published rank comes last."""
        return [
            worker.ranks[rank]
            for workers in self._sources.values()
            for worker in workers.values()
            for rank in sorted(worker.ranks, key=lambda rank: rank == worker.last_published)
        ]

    async def publish(self, record: WorkerRecord) -> None:
        """Store `record`, as `Backend.publish` says."""
        self._put(record)

    async def update_state(self, key: WorkerKey, state: WorkerState) -> UpdateOutcome:
        """Replace the state of a record, as `Backend.update_state` says."""
        worker = self._worker(key.source_id, key.worker_id)
        if worker is None or key.worker_rank not in worker.ranks:
            return UpdateOutcome.NOT_REGISTERED
        record = worker.ranks[key.worker_rank]
        if is_older(state.updated_at_ms, record.summary.state.updated_at_ms):
            return UpdateOutcome.OLDER
        worker.ranks[key.worker_rank] = _with_state(record, state)
        return UpdateOutcome.APPLIED

    async def get(self, source_id: str, worker_id: str) -> WorkerRecord | None:
        """Return a worker's record, as `Backend.get` says."""
        worker = self._worker(source_id, worker_id)
        return None if worker is None else worker.ranks[worker.last_published]

    async def summaries(self, source_id: str | None) -> Sequence[WorkerSummary]:
        """Return the workers' summaries, as `Backend.summaries` says."""
        sources = self._sources.values() if source_id is None else [self._sources.get(source_id, {})]
        return [worker.ranks[worker.last_published].summary for workers in sources for worker in workers.values()]

    async def mark_stale(self, source_id: str, worker_id: str, not_after_ms: int) -> bool:
        """Mark a silent worker STALE, as `Backend.mark_stale` says."""
        worker = self._worker(source_id, worker_id)
        if worker is None:
            return False
        marked = False
        for rank, record in worker.ranks.items():
            state = record.summary.state
            live = state.status in {SourceStatus.READY, SourceStatus.INITIALIZING}
            if live and state.updated_at_ms <= not_after_ms:
                worker.ranks[rank] = _with_state(record, replace(state, status=SourceStatus.STALE))
                marked = True
        return marked

    async def remove(self, source_id: str, worker_id: str, not_after_ms: int) -> bool:
        """Remove a silent worker, as `Backend.remove` says."""
        worker = self._worker(source_id, worker_id)
        if worker is None or any(r.summary.state.updated_at_ms > not_after_ms for r in worker.ranks.values()):
            return False
        workers = self._sources[source_id]
        del workers[worker_id]
        if not workers:
            del self._sources[source_id]
        return True

    async def ping(self) -> None:
        """Return at once: memory is always there."""

    async def aclose(self) -> None:
        """Do nothing: what is in memory needs no closing."""

    def _put(self, record: WorkerRecord) -> None:
        key = record.summary.key
        worker = self._sources.setdefault(key.source_id, {}).setdefault(key.worker_id, _Worker({}, key.worker_rank))
        worker.ranks[key.worker_rank] = record
        worker.last_published = key.worker_rank

    def _worker(self, source_id: str, worker_id: str) -> _Worker | None:
        return self._sources.get(source_id, {}).get(worker_id)


def _with_state(record: WorkerRecord, state: WorkerState) -> WorkerRecord:
    return replace(record, summary=replace(record.summary, state=state))
