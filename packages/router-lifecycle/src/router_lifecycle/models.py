"""What a router says of its workers, read with tolerance.

Every router has fields of its own, words of its own and rows of other people. So a field that isn't as expected is None, a word
that nobody knows is kept as text, whatever else an entry holds is kept beside it, and an entry that is no worker is left out
without spoiling the others.
"""

from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field

from router_lifecycle.urls import split_dp_rank


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _number(value: object) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _texts(value: object) -> dict[str, str]:
    return {key: text for key, text in value.items() if isinstance(text, str)} if isinstance(value, dict) else {}


_Text = Annotated[str | None, BeforeValidator(_text)]
_Flag = Annotated[bool | None, BeforeValidator(_flag)]
_Number = Annotated[float | None, BeforeValidator(_number)]
_Whole = Annotated[int | None, BeforeValidator(_whole)]
_Texts = Annotated[dict[str, str], BeforeValidator(_texts)]


class JobStatus(BaseModel, frozen=True, extra="allow"):
    """What a router remembers of the last job on a URL: one record, whichever job wrote last.

    There is no record of success: it is deleted. Old routers delete every record after 300 s, even of a job that still runs.

    Attributes:
        job_type: AddWorker, RemoveWorker, UpdateWorker, or whatever a newer router says.
        status: pending, processing, failed, or whatever a newer router says.
        worker_url: The URL that the job is about, or None.
        message: Why it failed, or None.
        timestamp: When the status last changed, in seconds since the Unix epoch on the router's clock, or None.
    """

    job_type: _Text = None
    status: _Text = None
    worker_url: _Text = None
    message: _Text = None
    timestamp: _Number = None

    def __str__(self) -> str:
        return f"{self.job_type} {self.status}" + (f": {self.message}" if self.message else "")

    @property
    def adds(self) -> bool:
        """Whether the job registers a worker."""
        return self.job_type == "AddWorker"

    @property
    def removes(self) -> bool:
        """Whether the job removes a worker."""
        return self.job_type == "RemoveWorker"

    @property
    def is_failed(self) -> bool:
        """Whether the job ended in failure; no other word is an end."""
        return self.status == "failed"


def _job(value: object) -> JobStatus | None:
    return (
        JobStatus.model_validate(value) if isinstance(value, dict) else value if isinstance(value, JobStatus) else None
    )


class WorkerRow(BaseModel, frozen=True, extra="allow"):
    """One entry of a router: of its list, or the answer about one worker.

    Before a worker is active the answer about it holds placeholders ("unknown", priority 0) that look like data.

    Attributes:
        url: As the router spells it, with the `@rank` of a data-parallel rank.
        id: The router's name for the entry, or None on routers without.
        model_id: Name of the model, or None.
        worker_type: regular, prefill, decode, unknown, or whatever a newer router says; None when it says nothing.
        is_healthy: The router's word, or None when it says nothing.
        status: SMG's word (pending, ready, not_ready, failed, draining, ...); None on other routers.
        priority: As stored, or None.
        cost: As stored, or None.
        labels: Texts under `labels` (SMG).
        metadata: Texts under `metadata`, where older routers keep posted labels too.
        dp_size: How many data-parallel ranks the worker has, or None when the router doesn't say.
        job_status: The record of the last job on the URL; never in a list.
    """

    url: str
    id: _Text = None
    model_id: _Text = None
    worker_type: _Text = None
    is_healthy: _Flag = None
    status: _Text = None
    priority: _Whole = None
    cost: _Number = None
    labels: _Texts = Field(default_factory=dict)
    metadata: _Texts = Field(default_factory=dict)
    dp_size: _Whole = None
    job_status: Annotated[JobStatus | None, BeforeValidator(_job)] = None

    @property
    def base_url(self) -> str:
        """The worker's URL in canonical spelling, without a rank."""
        return split_dp_rank(self.url)[0]

    @property
    def rank(self) -> int | None:
        """The data-parallel rank, or None for an entry that stands for the whole worker."""
        return split_dp_rank(self.url)[1]

    @property
    def expected_ranks(self) -> int | None:
        """How many ranks the worker has by the entry's own account, or None when it doesn't say."""
        if self.dp_size is not None:
            return self.dp_size
        told = (self.labels | self.metadata).get("dp_size", "")
        return int(told) if told.isascii() and told.isdigit() else None

    @property
    def is_draining(self) -> bool:
        """Whether the router is letting go of it (SMG)."""
        return self.status == "draining"

    @property
    def is_routable(self) -> bool:
        """Whether the router sends requests here: healthy, and `ready` where the router has that word."""
        if self.status is not None:
            return self.status == "ready" and self.is_healthy is not False
        return self.is_healthy is True


def read_rows(entries: Iterable[Any]) -> tuple[WorkerRow, ...]:
    """Return the entries of a list that are workers; whatever else stands there is passed over."""
    return tuple(
        WorkerRow.model_validate(entry)
        for entry in entries
        if isinstance(entry, dict) and isinstance(entry.get("url"), str)
    )


class Worker(BaseModel, frozen=True):
    """A worker as a router has it: one entry, or one for each data-parallel rank.

    Attributes:
        router: URL of the router.
        url: The worker's URL in canonical spelling; that of a foreign entry as it is listed.
        worker_id: The id to remove it by where the list doesn't show it (data-parallel workers before SMG), or None.
        rows: Its entries, by rank.
    """

    router: str
    url: str
    worker_id: str | None = None
    rows: tuple[WorkerRow, ...]

    @property
    def is_routable(self) -> bool:
        """Whether the router sends requests to it: every entry is routable, and no rank is missing."""
        return all(row.is_routable for row in self.rows) and not ranks_missing(self.rows)

    @property
    def worker_type(self) -> str | None:
        """regular, prefill, decode or the router's own word, or None when the router doesn't say."""
        return self.rows[0].worker_type

    @property
    def ranks(self) -> tuple[int, ...]:
        """The data-parallel ranks, or () for a worker without."""
        return tuple(row.rank for row in self.rows if row.rank is not None)


def group_rows(router: str, rows: Iterable[WorkerRow]) -> list[Worker]:
    """Group a router's entries into workers, in the order of the list."""
    by_url: dict[str, list[WorkerRow]] = {}
    for row in rows:
        by_url.setdefault(row.base_url, []).append(row)
    return [Worker(router=router, url=url, rows=by_rank(rows)) for url, rows in by_url.items()]


def by_rank(rows: Iterable[WorkerRow]) -> tuple[WorkerRow, ...]:
    """Return the entries in the order of their ranks."""
    return tuple(sorted(rows, key=lambda row: -1 if row.rank is None else row.rank))


def ranks_missing(rows: Iterable[WorkerRow]) -> bool:
    """Return whether ranks are listed, but fewer than an entry says there are."""
    ranked = [row for row in rows if row.rank is not None]
    expected = max((row.expected_ranks or 0 for row in ranked), default=0)
    return len({row.rank for row in ranked}) < expected
