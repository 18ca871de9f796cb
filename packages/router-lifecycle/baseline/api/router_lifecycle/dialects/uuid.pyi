from collections.abc import Sequence
from router_lifecycle.dialects.base import DialectName as DialectName, Updating as Updating, WorkersRoutes as WorkersRoutes, worker_path as worker_path
from router_lifecycle.exchange import Request as Request
from router_lifecycle.models import WorkerRow as WorkerRow
from typing import ClassVar

class UuidDialect(WorkersRoutes):
    name: ClassVar[DialectName]
    records_expire: ClassVar[bool]
    records_failures: ClassVar[bool]
    names_listed_health: ClassVar[bool]
    updating: ClassVar[Updating | None]
    finds_by_url: ClassVar[bool]
    def show(self, url: str, worker_id: str | None) -> Request | None: ...
    def removal_ids(self, url: str, worker_id: str | None, rows: Sequence[WorkerRow]) -> tuple[str, ...]: ...
