from p2p_registry.backends import open_backend as open_backend
from p2p_registry.errors import AlreadyStartedError as AlreadyStartedError, BackendError as BackendError, BindError as BindError, CredentialFileError as CredentialFileError, InvalidBackendUrlError as InvalidBackendUrlError, InvalidIdentityError as InvalidIdentityError, MissingExtraError as MissingExtraError, P2PRegistryError as P2PRegistryError, RecordRefusedError as RecordRefusedError, RegistryUnreachableError as RegistryUnreachableError, SettingError as SettingError, SourceGoneError as SourceGoneError
from p2p_registry.identity import BackendFramework as BackendFramework, SourceIdentity as SourceIdentity, SourceType as SourceType
from p2p_registry.interfaces import Backend as Backend, CallObserver as CallObserver, PublisherClock as PublisherClock, UpdateOutcome as UpdateOutcome
from p2p_registry.listing import HEARTBEAT_TIMEOUT_MS as HEARTBEAT_TIMEOUT_MS
from p2p_registry.memory import MemoryBackend as MemoryBackend
from p2p_registry.publishing import PublisherSettings as PublisherSettings, PublisherState as PublisherState
from p2p_registry.reaper import REMOVAL_TIMEOUT_MS as REMOVAL_TIMEOUT_MS, Reaped as Reaped
from p2p_registry.records import PodReference as PodReference, SourceStatus as SourceStatus, WorkerKey as WorkerKey, WorkerRecord as WorkerRecord, WorkerState as WorkerState, WorkerSummary as WorkerSummary
from p2p_registry.registration import Registration as Registration, new_worker_id as new_worker_id
from p2p_registry.service import RegistryService as RegistryService
from p2p_registry.snapshot_backend import SnapshotBackend as SnapshotBackend
from p2p_registry.source_id import mx_source_id as mx_source_id

__all__ = ['open_backend', 'AlreadyStartedError', 'BackendError', 'BindError', 'CredentialFileError', 'InvalidBackendUrlError', 'InvalidIdentityError', 'MissingExtraError', 'P2PRegistryError', 'RecordRefusedError', 'RegistryUnreachableError', 'SettingError', 'SourceGoneError', 'BackendFramework', 'SourceIdentity', 'SourceType', 'Backend', 'CallObserver', 'PublisherClock', 'UpdateOutcome', 'HEARTBEAT_TIMEOUT_MS', 'MemoryBackend', 'PublisherSettings', 'PublisherState', 'REMOVAL_TIMEOUT_MS', 'Reaped', 'PodReference', 'SourceStatus', 'WorkerKey', 'WorkerRecord', 'WorkerState', 'WorkerSummary', 'Registration', 'new_worker_id', 'RegistryService', 'SnapshotBackend', 'mx_source_id']
