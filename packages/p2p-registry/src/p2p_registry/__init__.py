"""The P2P metadata of weight sources: what a source is, the id it is listed under, and the service that lists it.

`RegistryService` answers requests from a `Backend`; `p2p_registry.server` puts it on gRPC, and `p2p_registry.serving` makes a server of
it. Sources publish through `p2p_registry.publisher`, or `publisher_thread`, and pullers ask through `p2p_registry.client`; the messages
are in `p2p_registry.wire`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from p2p_registry.backends import open_backend
    from p2p_registry.errors import (
        AlreadyStartedError,
        BackendError,
        BindError,
        CredentialFileError,
        InvalidBackendUrlError,
        InvalidIdentityError,
        MissingExtraError,
        P2PRegistryError,
        RecordRefusedError,
        RegistryUnreachableError,
        SettingError,
        SourceGoneError,
    )
    from p2p_registry.identity import BackendFramework, SourceIdentity, SourceType
    from p2p_registry.interfaces import Backend, CallObserver, PublisherClock, UpdateOutcome
    from p2p_registry.listing import HEARTBEAT_TIMEOUT_MS
    from p2p_registry.memory import MemoryBackend
    from p2p_registry.publishing import PublisherSettings, PublisherState
    from p2p_registry.reaper import REMOVAL_TIMEOUT_MS, Reaped
    from p2p_registry.records import PodReference, SourceStatus, WorkerKey, WorkerRecord, WorkerState, WorkerSummary
    from p2p_registry.registration import Registration, new_worker_id
    from p2p_registry.service import RegistryService
    from p2p_registry.snapshot_backend import SnapshotBackend
    from p2p_registry.source_id import mx_source_id

__all__ = [
    "HEARTBEAT_TIMEOUT_MS",
    "REMOVAL_TIMEOUT_MS",
    "AlreadyStartedError",
    "Backend",
    "BackendError",
    "BackendFramework",
    "BindError",
    "CallObserver",
    "CredentialFileError",
    "InvalidBackendUrlError",
    "InvalidIdentityError",
    "MemoryBackend",
    "MissingExtraError",
    "P2PRegistryError",
    "PodReference",
    "PublisherClock",
    "PublisherSettings",
    "PublisherState",
    "Reaped",
    "RecordRefusedError",
    "Registration",
    "RegistryService",
    "RegistryUnreachableError",
    "SettingError",
    "SnapshotBackend",
    "SourceGoneError",
    "SourceIdentity",
    "SourceStatus",
    "SourceType",
    "UpdateOutcome",
    "WorkerKey",
    "WorkerRecord",
    "WorkerState",
    "WorkerSummary",
    "mx_source_id",
    "new_worker_id",
    "open_backend",
]

_MODULES = {
    "AlreadyStartedError": "errors",
    "Backend": "interfaces",
    "BackendError": "errors",
    "BackendFramework": "identity",
    "BindError": "errors",
    "CallObserver": "interfaces",
    "CredentialFileError": "errors",
    "HEARTBEAT_TIMEOUT_MS": "listing",
    "InvalidBackendUrlError": "errors",
    "InvalidIdentityError": "errors",
    "MemoryBackend": "memory",
    "MissingExtraError": "errors",
    "P2PRegistryError": "errors",
    "PodReference": "records",
    "PublisherClock": "interfaces",
    "PublisherSettings": "publishing",
    "PublisherState": "publishing",
    "REMOVAL_TIMEOUT_MS": "reaper",
    "Reaped": "reaper",
    "RecordRefusedError": "errors",
    "Registration": "registration",
    "RegistryService": "service",
    "RegistryUnreachableError": "errors",
    "SettingError": "errors",
    "SnapshotBackend": "snapshot_backend",
    "SourceGoneError": "errors",
    "SourceIdentity": "identity",
    "SourceStatus": "records",
    "SourceType": "identity",
    "UpdateOutcome": "interfaces",
    "WorkerKey": "records",
    "WorkerRecord": "records",
    "WorkerState": "records",
    "WorkerSummary": "records",
    "mx_source_id": "source_id",
    "new_worker_id": "registration",
    "open_backend": "backends",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: the command's --version doesn't wait for protobuf and asyncio."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
