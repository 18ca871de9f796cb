"""What every dialect can do, and what those with `/workers` have in common."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias
from urllib.parse import quote

from router_lifecycle.exchange import Answer, Request
from router_lifecycle.models import WorkerRow, read_rows
from router_lifecycle.spec import WorkerSpec

DialectName: TypeAlias = Literal["sync", "url", "uuid", "smg"]
"""The dialects by name."""


@dataclass(frozen=True, slots=True)
class Updating:
    """How a dialect changes a worker in place.

    Attributes:
        method: The HTTP method of a partial update.
        reaches_ranks: Whether data-parallel ranks can be changed too; where they can't, the router accepts it and then fails.
    """

    method: Literal["PUT", "PATCH"]
    reaches_ranks: bool


class Dialect(Protocol):
    """One way of speaking of workers."""

    @property
    def name(self) -> DialectName:
        """Its name."""

    @property
    def records_expire(self) -> bool:
        """Whether the record of a job that still runs may vanish (300 s after its last change)."""

    @property
    def records_failures(self) -> bool:
        """Whether a failed registration leaves a record; where it doesn't, a vanished one is the only sign."""

    @property
    def names_listed_health(self) -> bool:
        """Whether the list says which workers are healthy; where it doesn't, being listed is all there is."""

    @property
    def updating(self) -> Updating | None:
        """How a worker is changed in place, or None when it can't be."""

    @property
    def finds_by_url(self) -> bool:
        """Whether a worker can be asked for by its URL alone, even while it is only pending."""

    def create(self, spec: WorkerSpec) -> Request:
        """Return the request that submits a worker."""

    def show(self, url: str, worker_id: str | None) -> Request | None:
        """Return the request for one worker, or None where it can't be asked for."""

    def list_all(self) -> Request:
        """Return the request for all workers."""

    def read_list(self, answer: Answer) -> tuple[WorkerRow, ...] | None:
        """Return the entries of a list, or None when the answer is none."""

    def removal_ids(self, url: str, worker_id: str | None, rows: Sequence[WorkerRow]) -> tuple[str, ...]:
        """Return the ids to delete, one request each, so that every entry goes; () when none is known."""

    def remove(self, worker_id: str) -> Request:
        """Return the request that removes what has that id."""


class WorkersRoutes:
    """Requests and readers of the routers that have `/workers`."""

    def create(self, spec: WorkerSpec) -> Request:
        """Return the POST of the worker."""
        return Request("POST", "/workers", spec.request_body())

    def list_all(self) -> Request:
        """Return the GET of the list."""
        return Request("GET", "/workers")

    def read_list(self, answer: Answer) -> tuple[WorkerRow, ...] | None:
        """Return the entries, or None when the answer is no list of workers."""
        entries = (answer.json_object() or {}).get("workers")
        return read_rows(entries) if isinstance(entries, list) else None

    def remove(self, worker_id: str) -> Request:
        """Return the DELETE of an id."""
        return Request("DELETE", worker_path(worker_id))


def worker_path(worker_id: str) -> str:
    """Return the path of an id. The slashes of a URL must be encoded: a raw URL is a path that no router has."""
    return f"/workers/{quote(worker_id, safe='')}"
