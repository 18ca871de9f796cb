from _typeshed import Incomplete
from router_lifecycle.handle import RegistrationHandle as RegistrationHandle, RemovalHandle as RemovalHandle
from router_lifecycle.observation import Observation as Observation
from typing import Any, TypeAlias

OperationPhase: TypeAlias

class RouterLifecycleError(Exception): ...

class InvalidWorkerURLError(RouterLifecycleError, ValueError):
    url: Incomplete
    reason: Incomplete
    def __init__(self, url: str, reason: str) -> None: ...

class InvalidRouterURLError(RouterLifecycleError, ValueError):
    def __init__(self, url: str) -> None: ...

class TransportError(RouterLifecycleError):
    maybe_sent: Incomplete
    def __init__(self, reason: str, *, maybe_sent: bool) -> None: ...

class OperationError(RouterLifecycleError):
    advice: str
    advice_needs_handle: bool
    message: Incomplete
    phase: Incomplete
    router: Incomplete
    worker_url: Incomplete
    worker_id: Incomplete
    observation: Incomplete
    handle: Incomplete
    safe_to_resubmit: Incomplete
    def __init__(self, message: str, *, phase: OperationPhase, router: str, worker_url: str | None = None, worker_id: str | None = None, observation: Observation | None = None, handle: RegistrationHandle | RemovalHandle | None = None, safe_to_resubmit: bool = False) -> None: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

class SubmissionRejected(OperationError):
    advice: str

class AlreadyRegistered(SubmissionRejected):
    advice: str

class CreateInProgress(SubmissionRejected):
    advice: str

class NotSent(OperationError):
    advice: str

class SubmissionUnknown(OperationError):
    advice: str

class RegistrationFailed(OperationError): ...

class RegistrationLost(OperationError):
    advice: str

class OperationTimeout(OperationError, TimeoutError):
    advice: str
    advice_needs_handle: bool

class RemovalFailed(OperationError): ...

class RemovalUnresolved(OperationError):
    advice: str

class UpdateFailed(OperationError): ...
class IdentityConflict(OperationError): ...

class AuthenticationError(OperationError):
    advice: str

class RouterUnsupported(OperationError): ...
