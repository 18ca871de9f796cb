from collections.abc import Iterable
from pydantic import BaseModel
from router_lifecycle.urls import split_dp_rank as split_dp_rank
from typing import Annotated, Any

class JobStatus(BaseModel, frozen=True, extra='allow'):
    job_type: _Text
    status: _Text
    worker_url: _Text
    message: _Text
    timestamp: _Number
    @property
    def adds(self) -> bool: ...
    @property
    def removes(self) -> bool: ...
    @property
    def is_failed(self) -> bool: ...

class WorkerRow(BaseModel, frozen=True, extra='allow'):
    url: str
    id: _Text
    model_id: _Text
    worker_type: _Text
    is_healthy: _Flag
    status: _Text
    priority: _Whole
    cost: _Number
    labels: _Texts
    metadata: _Texts
    dp_size: _Whole
    job_status: Annotated[JobStatus | None, None]
    @property
    def base_url(self) -> str: ...
    @property
    def rank(self) -> int | None: ...
    @property
    def expected_ranks(self) -> int | None: ...
    @property
    def is_draining(self) -> bool: ...
    @property
    def is_routable(self) -> bool: ...

def read_rows(entries: Iterable[Any]) -> tuple[WorkerRow, ...]: ...

class Worker(BaseModel, frozen=True):
    router: str
    url: str
    worker_id: str | None
    rows: tuple[WorkerRow, ...]
    @property
    def is_routable(self) -> bool: ...
    @property
    def worker_type(self) -> str | None: ...
    @property
    def ranks(self) -> tuple[int, ...]: ...

def group_rows(router: str, rows: Iterable[WorkerRow]) -> list[Worker]: ...
def by_rank(rows: Iterable[WorkerRow]) -> tuple[WorkerRow, ...]: ...
def ranks_missing(rows: Iterable[WorkerRow]) -> bool: ...
