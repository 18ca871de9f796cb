"""The P2P metadata of weight sources: what a source is, the id it is listed under, and the service that lists it.

`RegistryService` answers requests from a `Backend`; `p2p_registry.server` puts it on gRPC; pullers
ask through `p2p_registry.client`; the messages are in `p2p_registry.wire`.
"""

from p2p_registry.backends import open_backend
from p2p_registry.errors import (
    BackendError,
    InvalidBackendUrlError,
    InvalidIdentityError,
    MissingExtraError,
    P2PRegistryError,
    RegistryUnreachableError,
    SourceGoneError,
)
from p2p_registry.identity import BackendFramework, SourceIdentity, SourceType
from p2p_registry.interfaces import Backend, UpdateOutcome
from p2p_registry.listing import HEARTBEAT_TIMEOUT_MS
from p2p_registry.memory import MemoryBackend
from p2p_registry.reaper import REMOVAL_TIMEOUT_MS, Reaped
from p2p_registry.records import SourceStatus, WorkerKey, WorkerRecord, WorkerState, WorkerSummary
from p2p_registry.service import RegistryService
from p2p_registry.snapshot_backend import SnapshotBackend
from p2p_registry.source_id import mx_source_id

__all__ = [
    "HEARTBEAT_TIMEOUT_MS",
    "REMOVAL_TIMEOUT_MS",
    "Backend",
    "BackendError",
    "BackendFramework",
    "InvalidBackendUrlError",
    "InvalidIdentityError",
    "MemoryBackend",
    "MissingExtraError",
    "P2PRegistryError",
    "Reaped",
    "RegistryService",
    "RegistryUnreachableError",
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
    "open_backend",
]
