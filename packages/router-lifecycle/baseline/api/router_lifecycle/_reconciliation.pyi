from router_lifecycle._activation import Activation as Activation
from router_lifecycle._link import Link as Link
from router_lifecycle._machine_register import RegisterSign as RegisterSign, RegisterState as RegisterState, foreign_entry as foreign_entry
from router_lifecycle._operation import Operation as Operation
from router_lifecycle._polling import Looked as Looked
from router_lifecycle._registration import Registrar as Registrar
from router_lifecycle._steadiness import SETTLED as SETTLED, Steadiness as Steadiness, Stillness as Stillness
from router_lifecycle.handle import Phase as Phase, ReconciledState as ReconciledState, Reconciliation as Reconciliation, RegistrationHandle as RegistrationHandle
from router_lifecycle.models import Worker as Worker
from router_lifecycle.observation import Observation as Observation

class Reconciler:
    def __init__(self, link: Link, registrar: Registrar, activation: Activation) -> None: ...
    async def reconcile(self, operation: Operation, handle: RegistrationHandle, settle_seconds: float | None) -> Reconciliation: ...
