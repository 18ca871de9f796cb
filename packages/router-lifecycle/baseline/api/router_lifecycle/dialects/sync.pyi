from collections.abc import Sequence
from router_lifecycle.dialects.base import DialectName as DialectName, Updating as Updating
from router_lifecycle.exchange import Answer as Answer, Request as Request
from router_lifecycle.models import WorkerRow as WorkerRow, read_rows as read_rows
from router_lifecycle.spec import WorkerSpec as WorkerSpec
from typing import ClassVar

class SyncDialect:
    name: ClassVar[DialectName]
    records_expire: ClassVar[bool]
    records_failures: ClassVar[bool]
    names_listed_health: ClassVar[bool]
    updating: ClassVar[Updating | None]
    finds_by_url: ClassVar[bool]
    def create(self, spec: WorkerSpec) -> Request: ...
    def show(self, url: str, worker_id: str | None) -> Request | None: ...
    def list_all(self) -> Request: ...
    def read_list(self, answer: Answer) -> tuple[WorkerRow, ...] | None: ...
    def removal_ids(self, url: str, worker_id: str | None, rows: Sequence[WorkerRow]) -> tuple[str, ...]: ...
    def remove(self, worker_id: str) -> Request: ...
