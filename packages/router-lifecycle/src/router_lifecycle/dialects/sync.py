"""Routers up to 0.2.1, and those that only have /add_worker: an answer comes when the work is done."""

from collections.abc import Sequence
from typing import ClassVar
from urllib.parse import quote

from router_lifecycle.dialects.base import DialectName, Updating
from router_lifecycle.exchange import Answer, Request
from router_lifecycle.models import WorkerRow, read_rows
from router_lifecycle.spec import WorkerSpec


class SyncDialect:
    """`/add_worker`, `/remove_worker`, `/list_workers`: URLs without type, health or job; only regular workers without a key."""

    name: ClassVar[DialectName] = "sync"
    records_expire: ClassVar[bool] = False
    records_failures: ClassVar[bool] = True
    names_listed_health: ClassVar[bool] = False
    updating: ClassVar[Updating | None] = None
    finds_by_url: ClassVar[bool] = False

    def create(self, spec: WorkerSpec) -> Request:
        """Return the POST that registers the URL; nothing else of the spec can be said to such a router."""
        return Request("POST", f"/add_worker?url={quote(spec.url, safe='')}")

    def show(self, url: str, worker_id: str | None) -> Request | None:  # noqa: ARG002 - no router of this kind answers
        """Return None: one worker can't be asked for."""
        return None

    def list_all(self) -> Request:
        """Return the GET of the URLs."""
        return Request("GET", "/list_workers")

    def read_list(self, answer: Answer) -> tuple[WorkerRow, ...] | None:
        """Return an entry for each URL, or None when the answer is no list of URLs."""
        urls = (answer.json_object() or {}).get("urls")
        return read_rows({"url": url, "id": url} for url in urls) if isinstance(urls, list) else None

    def removal_ids(self, url: str, worker_id: str | None, rows: Sequence[WorkerRow]) -> tuple[str, ...]:  # noqa: ARG002
        """Return the URLs as listed."""
        return tuple(row.url for row in rows) or (url,)

    def remove(self, worker_id: str) -> Request:
        """Return the POST that removes a URL."""
        return Request("POST", f"/remove_worker?url={quote(worker_id, safe='')}")
