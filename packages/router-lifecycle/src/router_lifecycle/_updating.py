"""The steps of an update: send it once for each entry, look until the entries show it."""

from collections.abc import Mapping

from router_lifecycle._link import Link
from router_lifecycle._operation import Operation
from router_lifecycle._polling import Looked
from router_lifecycle._steadiness import CONFIRMED, Stillness
from router_lifecycle.dialects import Updating
from router_lifecycle.dialects.base import worker_path
from router_lifecycle.errors import IdentityConflict, OperationTimeout, RouterUnsupported, TransportError, UpdateFailed
from router_lifecycle.exchange import Request
from router_lifecycle.models import Worker, WorkerRow
from router_lifecycle.observation import Observation


class Updater:
    """Carries out updates over a link."""

    def __init__(self, link: Link) -> None:
        """Take the link."""
        self._link = link

    async def update(self, operation: Operation, worker: Worker, changes: Mapping[str, object]) -> Worker:
        """Change a listed worker in place and return it as it is then listed."""
        before = await self._listed(operation, worker)
        dialect = self._link.spoken()
        rows = before.rows or ()
        updating = dialect.updating if dialect is not None else None
        if updating is None or (any(row.rank is not None for row in rows) and not updating.reaches_ranks):
            raise operation.error(
                RouterUnsupported,
                "this router can't change such a worker in place: remove it and register it again as it should be",
            )
        for row in rows:
            await self._send(operation, updating, row, changes)
        return await self._wait(operation, worker, changes, before)

    async def _listed(self, operation: Operation, worker: Worker) -> Observation:
        async def look() -> Looked[Observation]:
            seen = await self._link.look(operation, worker.url, worker.worker_id)
            return Looked(seen if seen.rows is not None else None, seen.retry_after_seconds)

        seen = await self._link.poll(look, operation)
        if seen is None:
            raise operation.error(OperationTimeout, "the router's workers could not be read, so nothing was sent")
        if not seen.rows:
            raise operation.error(IdentityConflict, "the router doesn't list it, so there is nothing to update")
        return seen

    async def _send(
        self, operation: Operation, updating: Updating, row: WorkerRow, changes: Mapping[str, object]
    ) -> None:
        if row.id is None:
            raise operation.error(RouterUnsupported, f"the entry {row.url} has no id to update it by")
        try:
            answer = await self._link.send(Request(updating.method, worker_path(row.id), changes), operation)
        except TransportError as error:
            if not error.maybe_sent:
                raise operation.error(OperationTimeout, f"no connection, so nothing was sent ({error})") from error
            # It may have been applied; looking tells.
            return
        if 300 <= answer.status < 500 and answer.status not in (408, 425, 429):
            raise operation.error(UpdateFailed, f"the router refused the update: {answer.excerpt()}")

    async def _wait(
        self, operation: Operation, worker: Worker, changes: Mapping[str, object], before: Observation
    ) -> Worker:
        still = Stillness()
        failed = False

        async def look() -> Looked[Observation]:
            nonlocal failed
            seen = await self._link.look(operation, worker.url, worker.worker_id)
            if seen.rows and all(_shows(row, changes) for row in seen.rows):
                return Looked(seen)
            job = seen.job if seen.job != before.job else None
            if job is not None and job.job_type == "UpdateWorker" and job.is_failed:
                failed = still.holds(job, CONFIRMED, self._link.now())
            return Looked(seen if failed else None, seen.retry_after_seconds)

        seen = await self._link.poll(look, operation)
        if failed and seen is not None and seen.job is not None:
            raise operation.error(UpdateFailed, f"the router failed to update it: {seen.job.message}")
        if seen is None:
            raise operation.error(OperationTimeout, "the change isn't to be seen yet")
        return worker.model_copy(update={"rows": seen.rows or ()})


def _shows(row: WorkerRow, changes: Mapping[str, object]) -> bool:
    """Return whether an entry is as the changes want it; labels stand under `labels` or among the metadata."""
    labels = changes.get("labels", {})
    texts = row.labels | row.metadata
    return (
        changes.get("priority", row.priority) == row.priority
        and changes.get("cost", row.cost) == row.cost
        and isinstance(labels, Mapping)
        and all(texts.get(name) == text for name, text in labels.items())
    )
