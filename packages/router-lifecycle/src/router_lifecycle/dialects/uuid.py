"""sglang-router 0.3.x: a worker's id is a UUID, told in the 202 and kept for the URL until the worker is removed."""

from collections.abc import Sequence
from typing import ClassVar

from router_lifecycle.dialects.base import DialectName, Updating, WorkersRoutes, worker_path
from router_lifecycle.exchange import Request
from router_lifecycle.models import WorkerRow


class UuidDialect(WorkersRoutes):
    """A worker is known by the UUID of its 202; no request finds a pending one by its URL."""

    name: ClassVar[DialectName] = "uuid"
    records_expire: ClassVar[bool] = True
    records_failures: ClassVar[bool] = True
    names_listed_health: ClassVar[bool] = True
    updating: ClassVar[Updating | None] = Updating("PUT", reaches_ranks=False)
    finds_by_url: ClassVar[bool] = False

    def show(self, url: str, worker_id: str | None) -> Request | None:  # noqa: ARG002 - the URL is no id here
        """Return the GET of the UUID, or None without one."""
        return Request("GET", worker_path(worker_id)) if worker_id else None

    def removal_ids(self, url: str, worker_id: str | None, rows: Sequence[WorkerRow]) -> tuple[str, ...]:  # noqa: ARG002
        """Return the ids as listed, and for ranks the UUID of the 202, which no list shows."""
        whole = [row.id for row in rows if row.rank is None and row.id]
        base = [worker_id] if worker_id and (not rows or any(row.rank is not None for row in rows)) else []
        return tuple(dict.fromkeys(whole + base))
