from loadmonitor_router.age import Assessment as Assessment, DEFAULT_FRESHNESS_MS as DEFAULT_FRESHNESS_MS, Freshness as Freshness, age_ms as age_ms, assess as assess, own_age_ms as own_age_ms, rank_age_ms as rank_age_ms
from loadmonitor_router.aggregate import aggregate_ranks as aggregate_ranks
from loadmonitor_router.client import MonitorClient as MonitorClient
from loadmonitor_router.config import ClientConfig as ClientConfig, normalize_address as normalize_address
from loadmonitor_router.connection import Connection as Connection, ConnectionState as ConnectionState, Grant as Grant, TlsFault as TlsFault
from loadmonitor_router.credentials import Credentials as Credentials, PLAINTEXT as PLAINTEXT
from loadmonitor_router.decoding import decode_report as decode_report
from loadmonitor_router.errors import ClientStateError as ClientStateError, ConfigError as ConfigError, CredentialFileError as CredentialFileError, DiscoveryError as DiscoveryError, DropReason as DropReason, DuplicateWorkerError as DuplicateWorkerError, ForkedProcessError as ForkedProcessError, InvalidReportError as InvalidReportError, LoadMonitorRouterError as LoadMonitorRouterError, MissingExtraError as MissingExtraError, NoReporterError as NoReporterError, NoWorkerError as NoWorkerError, StreamRefusedError as StreamRefusedError, WatchExpiredError as WatchExpiredError, WorkerListError as WorkerListError
from loadmonitor_router.explanation import Explanation as Explanation, Hop as Hop, explain as explain
from loadmonitor_router.interfaces import Clock as Clock, TimerHandle as TimerHandle
from loadmonitor_router.monitor import LoadMonitor as LoadMonitor
from loadmonitor_router.pressure import PrefillRates as PrefillRates, queue_pressure_seconds as queue_pressure_seconds
from loadmonitor_router.reports import NEVER_PICKED as NEVER_PICKED, RankLoad as RankLoad, Receipt as Receipt, ReportStatus as ReportStatus, WorkerInfo as WorkerInfo, WorkerReport as WorkerReport, WorkerState as WorkerState, WorkerType as WorkerType
from loadmonitor_router.snapshot import FleetSnapshot as FleetSnapshot, WorkerAggregate as WorkerAggregate, WorkerLoad as WorkerLoad, WorkerTarget as WorkerTarget
from loadmonitor_router.stats import Histogram as Histogram, MonitorStats as MonitorStats, ReconnectReason as ReconnectReason

__all__ = ['DEFAULT_FRESHNESS_MS', 'Assessment', 'Freshness', 'age_ms', 'assess', 'own_age_ms', 'rank_age_ms', 'aggregate_ranks', 'ClientConfig', 'normalize_address', 'Connection', 'ConnectionState', 'Grant', 'TlsFault', 'PLAINTEXT', 'Credentials', 'ClientStateError', 'ConfigError', 'CredentialFileError', 'DiscoveryError', 'DropReason', 'DuplicateWorkerError', 'ForkedProcessError', 'InvalidReportError', 'LoadMonitorRouterError', 'MissingExtraError', 'NoReporterError', 'NoWorkerError', 'StreamRefusedError', 'WatchExpiredError', 'WorkerListError', 'Explanation', 'Hop', 'explain', 'Clock', 'TimerHandle', 'PrefillRates', 'queue_pressure_seconds', 'NEVER_PICKED', 'RankLoad', 'Receipt', 'ReportStatus', 'WorkerInfo', 'WorkerReport', 'WorkerState', 'WorkerType', 'FleetSnapshot', 'WorkerAggregate', 'WorkerLoad', 'WorkerTarget', 'Histogram', 'MonitorStats', 'ReconnectReason', 'MonitorClient', 'decode_report', 'LoadMonitor']
