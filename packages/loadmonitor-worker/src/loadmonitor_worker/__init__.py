"""Worker side of load reporting: reads the engine's load per data-parallel rank and reports it to every registered router.

`start_load_reporter` hosts the Monitor service on a port of its own; a source tells it what the engine's load is.
Importing this package imports neither grpc nor protobuf.
"""

from loadmonitor_worker.authorization import (
    AllowAll,
    BearerTokenAuthorizer,
    CallMetadata,
    CertificateAuthorizer,
    PeerIdentity,
)
from loadmonitor_worker.cli_args import add_cli_args
from loadmonitor_worker.config import ReporterConfig, WorkerType
from loadmonitor_worker.errors import (
    BindError,
    ConfigError,
    CredentialFileError,
    ForkedProcessError,
    InvalidSnapshotError,
    LoadReporterError,
    MissingExtraError,
    MissingHookError,
    MissingSettingError,
    ServingModeError,
    SettingError,
    SourceError,
    SourceUnavailableError,
)
from loadmonitor_worker.interfaces import Authorizer, Clock, LoadSnapshotSource, TimerHandle
from loadmonitor_worker.measurements import Histogram, Measurements
from loadmonitor_worker.reporter import LoadReporter, start_load_reporter
from loadmonitor_worker.settings import LoadedSettings, Origin, load_settings
from loadmonitor_worker.snapshot import RankSnapshot
from loadmonitor_worker.state import IdleOutcome, WorkerState

__all__ = [
    "AllowAll",
    "Authorizer",
    "BearerTokenAuthorizer",
    "BindError",
    "CallMetadata",
    "CertificateAuthorizer",
    "Clock",
    "ConfigError",
    "CredentialFileError",
    "ForkedProcessError",
    "Histogram",
    "IdleOutcome",
    "InvalidSnapshotError",
    "LoadReporter",
    "LoadReporterError",
    "LoadSnapshotSource",
    "LoadedSettings",
    "Measurements",
    "MissingExtraError",
    "MissingHookError",
    "MissingSettingError",
    "Origin",
    "PeerIdentity",
    "RankSnapshot",
    "ReporterConfig",
    "ServingModeError",
    "SettingError",
    "SourceError",
    "SourceUnavailableError",
    "TimerHandle",
    "WorkerState",
    "WorkerType",
    "add_cli_args",
    "load_settings",
    "start_load_reporter",
]
