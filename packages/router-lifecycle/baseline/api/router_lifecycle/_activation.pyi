from router_lifecycle._link import Link as Link
from router_lifecycle._machine_register import REGISTER_TABLE as REGISTER_TABLE, RegisterFacts as RegisterFacts, RegisterMachine as RegisterMachine, RegisterSign as RegisterSign, RegisterState as RegisterState, foreign_entry as foreign_entry, register_sign as register_sign
from router_lifecycle._operation import Operation as Operation
from router_lifecycle._polling import Looked as Looked
from router_lifecycle._schedule import seconds_to_look as seconds_to_look
from router_lifecycle.errors import IdentityConflict as IdentityConflict, OperationTimeout as OperationTimeout, RegistrationFailed as RegistrationFailed, RegistrationLost as RegistrationLost
from router_lifecycle.handle import Phase as Phase, RegistrationHandle as RegistrationHandle
from router_lifecycle.models import Worker as Worker, WorkerRow as WorkerRow
from router_lifecycle.observation import Observation as Observation

class Activation:
    def __init__(self, link: Link, *, horizon_seconds: float) -> None: ...
    async def wait(self, operation: Operation, handle: RegistrationHandle) -> Worker: ...
    @staticmethod
    def machine(handle: RegistrationHandle) -> RegisterMachine: ...
    async def see(self, operation: Operation, handle: RegistrationHandle) -> tuple[Observation, RegisterSign | None]: ...

def check_type(operation: Operation, handle: RegistrationHandle, worker: Worker) -> None: ...
