from router_lifecycle._link import Link as Link
from router_lifecycle._machine_register import foreign_entry as foreign_entry
from router_lifecycle._machine_remove import RemoveFacts as RemoveFacts, RemoveMachine as RemoveMachine, RemoveSign as RemoveSign, RemoveState as RemoveState, removal_answer as removal_answer, remove_sign as remove_sign
from router_lifecycle._operation import Operation as Operation
from router_lifecycle._polling import Looked as Looked
from router_lifecycle.errors import IdentityConflict as IdentityConflict, OperationTimeout as OperationTimeout, RemovalFailed as RemovalFailed, RemovalUnresolved as RemovalUnresolved, TransportError as TransportError
from router_lifecycle.handle import RemovalHandle as RemovalHandle
from router_lifecycle.observation import Observation as Observation

class Remover:
    def __init__(self, link: Link, *, horizon_seconds: float, unreachable_budget_seconds: float) -> None: ...
    async def submit(self, operation: Operation, handle: RemovalHandle) -> None: ...
    async def wait(self, operation: Operation, handle: RemovalHandle) -> None: ...
