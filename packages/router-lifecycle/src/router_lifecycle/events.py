"""What happens during an operation, told while it happens."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from router_lifecycle.errors import OperationPhase
from router_lifecycle.handle import RegistrationHandle, RemovalHandle


@dataclass(frozen=True, slots=True)
class LifecycleEvent:
    """Something changed.

    Attributes:
        phase: What is being done.
        kind: What happened: `submitting`, `accepted`, `removing`, a state of a state machine, or a sign of it such as `pending`.
        router: URL of the router.
        worker_url: URL of the worker.
        elapsed_seconds: Time since the operation began.
        detail: What was seen, for people.
        handle: Of the operation as it stands; the event `submitting` comes before the request leaves, so that a copy kept then
            lets another process find out what became of it.
    """

    phase: OperationPhase
    kind: str
    router: str
    worker_url: str
    elapsed_seconds: float
    detail: str
    handle: RegistrationHandle | RemovalHandle


EventListener: TypeAlias = Callable[[LifecycleEvent], None]
"""Called with each event, in the thread of the client; what it raises ends the operation."""
