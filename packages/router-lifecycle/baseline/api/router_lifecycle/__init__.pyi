from router_lifecycle.client import RouterLifecycleClient as RouterLifecycleClient
from router_lifecycle.errors import AlreadyRegistered as AlreadyRegistered, AuthenticationError as AuthenticationError, CreateInProgress as CreateInProgress, IdentityConflict as IdentityConflict, InvalidRouterURLError as InvalidRouterURLError, InvalidWorkerURLError as InvalidWorkerURLError, NotSent as NotSent, OperationError as OperationError, OperationPhase as OperationPhase, OperationTimeout as OperationTimeout, RegistrationFailed as RegistrationFailed, RegistrationLost as RegistrationLost, RemovalFailed as RemovalFailed, RemovalUnresolved as RemovalUnresolved, RouterLifecycleError as RouterLifecycleError, RouterUnsupported as RouterUnsupported, SubmissionRejected as SubmissionRejected, SubmissionUnknown as SubmissionUnknown, TransportError as TransportError, UpdateFailed as UpdateFailed
from router_lifecycle.events import EventListener as EventListener, LifecycleEvent as LifecycleEvent
from router_lifecycle.exchange import Answer as Answer, Request as Request
from router_lifecycle.handle import Phase as Phase, ReconciledState as ReconciledState, Reconciliation as Reconciliation, RegistrationHandle as RegistrationHandle, RemovalHandle as RemovalHandle, ReplacementHandle as ReplacementHandle
from router_lifecycle.interfaces import Transport as Transport
from router_lifecycle.many import RegistrationResult as RegistrationResult
from router_lifecycle.models import JobStatus as JobStatus, Worker as Worker, WorkerRow as WorkerRow
from router_lifecycle.observation import Observation as Observation, RecordState as RecordState
from router_lifecycle.router_url import normalize_router_url as normalize_router_url
from router_lifecycle.spec import WorkerSpec as WorkerSpec, WorkerType as WorkerType
from router_lifecycle.sync import SyncRouterLifecycleClient as SyncRouterLifecycleClient
from router_lifecycle.targets import OnExisting as OnExisting, Target as Target
from router_lifecycle.transport import HttpxTransport as HttpxTransport
from router_lifecycle.urls import normalize_worker_url as normalize_worker_url, split_dp_rank as split_dp_rank

__all__ = ['RouterLifecycleClient', 'AlreadyRegistered', 'AuthenticationError', 'CreateInProgress', 'IdentityConflict', 'InvalidRouterURLError', 'InvalidWorkerURLError', 'NotSent', 'OperationError', 'OperationPhase', 'OperationTimeout', 'RegistrationFailed', 'RegistrationLost', 'RemovalFailed', 'RemovalUnresolved', 'RouterLifecycleError', 'RouterUnsupported', 'SubmissionRejected', 'SubmissionUnknown', 'TransportError', 'UpdateFailed', 'EventListener', 'LifecycleEvent', 'Answer', 'Request', 'Phase', 'ReconciledState', 'Reconciliation', 'RegistrationHandle', 'RemovalHandle', 'ReplacementHandle', 'Transport', 'RegistrationResult', 'JobStatus', 'Worker', 'WorkerRow', 'Observation', 'RecordState', 'normalize_router_url', 'WorkerSpec', 'WorkerType', 'SyncRouterLifecycleClient', 'OnExisting', 'Target', 'HttpxTransport', 'normalize_worker_url', 'split_dp_rank']
