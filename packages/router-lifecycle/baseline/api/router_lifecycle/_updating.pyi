from collections.abc import Mapping
from router_lifecycle._link import Link as Link
from router_lifecycle._operation import Operation as Operation
from router_lifecycle._polling import Looked as Looked
from router_lifecycle._steadiness import CONFIRMED as CONFIRMED, Stillness as Stillness
from router_lifecycle.dialects import Updating as Updating
from router_lifecycle.dialects.base import worker_path as worker_path
from router_lifecycle.errors import IdentityConflict as IdentityConflict, OperationTimeout as OperationTimeout, RouterUnsupported as RouterUnsupported, TransportError as TransportError, UpdateFailed as UpdateFailed
from router_lifecycle.exchange import Request as Request
from router_lifecycle.models import Worker as Worker, WorkerRow as WorkerRow
from router_lifecycle.observation import Observation as Observation

class Updater:
    def __init__(self, link: Link) -> None: ...
    async def update(self, operation: Operation, worker: Worker, changes: Mapping[str, object]) -> Worker: ...
