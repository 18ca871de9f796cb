from collections.abc import Sequence
from router_lifecycle.dialects.base import DialectName as DialectName, Updating as Updating
from router_lifecycle.dialects.uuid import UuidDialect as UuidDialect
from router_lifecycle.models import WorkerRow as WorkerRow
from typing import ClassVar

class SmgDialect(UuidDialect):
    name: ClassVar[DialectName]
    records_expire: ClassVar[bool]
    records_failures: ClassVar[bool]
    updating: ClassVar[Updating | None]
    def removal_ids(self, url: str, worker_id: str | None, rows: Sequence[WorkerRow]) -> tuple[str, ...]: ...
