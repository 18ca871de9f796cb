from loadmonitor_worker.authorization import AllowAll as AllowAll, BearerTokenAuthorizer as BearerTokenAuthorizer, CallMetadata as CallMetadata, CertificateAuthorizer as CertificateAuthorizer, PeerIdentity as PeerIdentity
from loadmonitor_worker.cli_args import add_cli_args as add_cli_args
from loadmonitor_worker.config import ReporterConfig as ReporterConfig, WorkerType as WorkerType
from loadmonitor_worker.errors import BindError as BindError, ConfigError as ConfigError, CredentialFileError as CredentialFileError, ForkedProcessError as ForkedProcessError, InvalidSnapshotError as InvalidSnapshotError, LoadReporterError as LoadReporterError, MissingExtraError as MissingExtraError, MissingHookError as MissingHookError, MissingSettingError as MissingSettingError, ServingModeError as ServingModeError, SettingError as SettingError, SourceError as SourceError, SourceUnavailableError as SourceUnavailableError
from loadmonitor_worker.interfaces import Authorizer as Authorizer, Clock as Clock, LoadSnapshotSource as LoadSnapshotSource, TimerHandle as TimerHandle
from loadmonitor_worker.measurements import Histogram as Histogram, Measurements as Measurements
from loadmonitor_worker.reporter import LoadReporter as LoadReporter, start_load_reporter as start_load_reporter
from loadmonitor_worker.settings import LoadedSettings as LoadedSettings, Origin as Origin, load_settings as load_settings
from loadmonitor_worker.snapshot import RankSnapshot as RankSnapshot
from loadmonitor_worker.state import IdleOutcome as IdleOutcome, WorkerState as WorkerState

__all__ = ['AllowAll', 'BearerTokenAuthorizer', 'CallMetadata', 'CertificateAuthorizer', 'PeerIdentity', 'add_cli_args', 'ReporterConfig', 'WorkerType', 'BindError', 'ConfigError', 'CredentialFileError', 'ForkedProcessError', 'InvalidSnapshotError', 'LoadReporterError', 'MissingExtraError', 'MissingHookError', 'MissingSettingError', 'ServingModeError', 'SettingError', 'SourceError', 'SourceUnavailableError', 'Authorizer', 'Clock', 'LoadSnapshotSource', 'TimerHandle', 'Histogram', 'Measurements', 'LoadReporter', 'start_load_reporter', 'LoadedSettings', 'Origin', 'load_settings', 'RankSnapshot', 'IdleOutcome', 'WorkerState']
