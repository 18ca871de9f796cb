"""The life of a worker at its router: registered, routable, removed, and what is known at each moment in between.

`RouterLifecycleClient` (asyncio) and `SyncRouterLifecycleClient` (blocking) carry out the operations; handles carry an operation to
another process; every error says what is known and whether it is safe to submit again.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from router_lifecycle.client import RouterLifecycleClient
    from router_lifecycle.errors import (
        AlreadyRegistered,
        AuthenticationError,
        CreateInProgress,
        IdentityConflict,
        InvalidRouterURLError,
        InvalidWorkerURLError,
        NotSent,
        OperationError,
        OperationPhase,
        OperationTimeout,
        RegistrationFailed,
        RegistrationLost,
        RemovalFailed,
        RemovalUnresolved,
        RouterLifecycleError,
        RouterUnsupported,
        SubmissionRejected,
        SubmissionUnknown,
        TransportError,
        UpdateFailed,
    )
    from router_lifecycle.events import EventListener, LifecycleEvent
    from router_lifecycle.exchange import Answer, Request
    from router_lifecycle.handle import (
        Phase,
        ReconciledState,
        Reconciliation,
        RegistrationHandle,
        RemovalHandle,
        ReplacementHandle,
    )
    from router_lifecycle.interfaces import Transport
    from router_lifecycle.many import RegistrationResult
    from router_lifecycle.models import JobStatus, Worker, WorkerRow
    from router_lifecycle.observation import Observation, RecordState
    from router_lifecycle.router_url import normalize_router_url
    from router_lifecycle.spec import WorkerSpec, WorkerType
    from router_lifecycle.sync import SyncRouterLifecycleClient
    from router_lifecycle.targets import OnExisting, Target
    from router_lifecycle.transport import HttpxTransport
    from router_lifecycle.urls import normalize_worker_url, split_dp_rank

__all__ = [
    "AlreadyRegistered",
    "Answer",
    "AuthenticationError",
    "CreateInProgress",
    "EventListener",
    "HttpxTransport",
    "IdentityConflict",
    "InvalidRouterURLError",
    "InvalidWorkerURLError",
    "JobStatus",
    "LifecycleEvent",
    "NotSent",
    "Observation",
    "OnExisting",
    "OperationError",
    "OperationPhase",
    "OperationTimeout",
    "Phase",
    "ReconciledState",
    "Reconciliation",
    "RecordState",
    "RegistrationFailed",
    "RegistrationHandle",
    "RegistrationLost",
    "RegistrationResult",
    "RemovalFailed",
    "RemovalHandle",
    "RemovalUnresolved",
    "ReplacementHandle",
    "Request",
    "RouterLifecycleClient",
    "RouterLifecycleError",
    "RouterUnsupported",
    "SubmissionRejected",
    "SubmissionUnknown",
    "SyncRouterLifecycleClient",
    "Target",
    "Transport",
    "TransportError",
    "UpdateFailed",
    "Worker",
    "WorkerRow",
    "WorkerSpec",
    "WorkerType",
    "normalize_router_url",
    "normalize_worker_url",
    "split_dp_rank",
]

_MODULES = {
    "AlreadyRegistered": "errors",
    "Answer": "exchange",
    "AuthenticationError": "errors",
    "CreateInProgress": "errors",
    "EventListener": "events",
    "HttpxTransport": "transport",
    "IdentityConflict": "errors",
    "InvalidRouterURLError": "errors",
    "InvalidWorkerURLError": "errors",
    "JobStatus": "models",
    "LifecycleEvent": "events",
    "NotSent": "errors",
    "Observation": "observation",
    "OnExisting": "targets",
    "OperationError": "errors",
    "OperationPhase": "errors",
    "OperationTimeout": "errors",
    "Phase": "handle",
    "ReconciledState": "handle",
    "Reconciliation": "handle",
    "RecordState": "observation",
    "RegistrationFailed": "errors",
    "RegistrationHandle": "handle",
    "RegistrationLost": "errors",
    "RegistrationResult": "many",
    "RemovalFailed": "errors",
    "RemovalHandle": "handle",
    "RemovalUnresolved": "errors",
    "ReplacementHandle": "handle",
    "Request": "exchange",
    "RouterLifecycleClient": "client",
    "RouterLifecycleError": "errors",
    "RouterUnsupported": "errors",
    "SubmissionRejected": "errors",
    "SubmissionUnknown": "errors",
    "SyncRouterLifecycleClient": "sync",
    "Target": "targets",
    "Transport": "interfaces",
    "TransportError": "errors",
    "UpdateFailed": "errors",
    "Worker": "models",
    "WorkerRow": "models",
    "WorkerSpec": "spec",
    "WorkerType": "spec",
    "normalize_router_url": "router_url",
    "normalize_worker_url": "urls",
    "split_dp_rank": "urls",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: the command's --version doesn't wait for pydantic and an HTTP client."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
