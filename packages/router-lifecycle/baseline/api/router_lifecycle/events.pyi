from collections.abc import Callable
from dataclasses import dataclass
from router_lifecycle.errors import OperationPhase as OperationPhase
from router_lifecycle.handle import RegistrationHandle as RegistrationHandle, RemovalHandle as RemovalHandle
from typing import TypeAlias

@dataclass(frozen=True, slots=True)
class LifecycleEvent:
    phase: OperationPhase
    kind: str
    router: str
    worker_url: str
    elapsed_seconds: float
    detail: str
    handle: RegistrationHandle | RemovalHandle
EventListener: TypeAlias = Callable[[LifecycleEvent], None]
