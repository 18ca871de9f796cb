"""SMG 1.x: UUIDs, a status word, refusals of duplicates, a drain before a removal, an id for each rank."""

from collections.abc import Sequence
from typing import ClassVar

from router_lifecycle.dialects.base import DialectName, Updating
from router_lifecycle.dialects.uuid import UuidDialect
from router_lifecycle.models import WorkerRow


class SmgDialect(UuidDialect):
    """The id of the 202 is good until the job ends; then the entries have theirs, and a failure leaves nothing."""

    name: ClassVar[DialectName] = "smg"
    records_expire: ClassVar[bool] = False
    records_failures: ClassVar[bool] = False
    updating: ClassVar[Updating | None] = Updating("PATCH", reaches_ranks=True)

    def removal_ids(self, url: str, worker_id: str | None, rows: Sequence[WorkerRow]) -> tuple[str, ...]:  # noqa: ARG002
        """Return the id of each entry that isn't draining already, or the id of the 202 while nothing is listed."""
        if rows:
            return tuple(row.id for row in rows if row.id and not row.is_draining)
        return (worker_id,) if worker_id else ()
