"""sglang-router 0.2.0 to 0.2.4: a worker's id is its URL, and every answer is a 202."""

from collections.abc import Sequence
from typing import ClassVar

from router_lifecycle.dialects.base import DialectName, Updating, WorkersRoutes, worker_path
from router_lifecycle.exchange import Request
from router_lifecycle.models import WorkerRow


class UrlDialect(WorkersRoutes):
    """A worker is known by its URL, pending or not. A removal is accepted for any text, and fails later."""

    name: ClassVar[DialectName] = "url"
    records_expire: ClassVar[bool] = True
    records_failures: ClassVar[bool] = True
    names_listed_health: ClassVar[bool] = True
    updating: ClassVar[Updating | None] = None
    finds_by_url: ClassVar[bool] = True

    def show(self, url: str, worker_id: str | None) -> Request:
        """Return the GET of the URL."""
        return Request("GET", worker_path(worker_id or url))

    def removal_ids(self, url: str, worker_id: str | None, rows: Sequence[WorkerRow]) -> tuple[str, ...]:
        """Return the ids as listed, and the base URL for ranks: a single rank's own id is accepted, and then fails."""
        whole = [row.id or row.url for row in rows if row.rank is None]
        ranked = [row.url.rpartition("@")[0] for row in rows if row.rank is not None]
        return tuple(dict.fromkeys(whole + ranked)) or (worker_id or url,)
