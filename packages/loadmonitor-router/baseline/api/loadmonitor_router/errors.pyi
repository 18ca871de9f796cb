from _typeshed import Incomplete
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

class DropReason(StrEnum):
    NO_SOURCE_INSTANCE = 'no_source_instance'
    NO_STATUS = 'no_status'
    DUPLICATE_RANK = 'duplicate_rank'
    NEGATIVE = 'negative'
    NOT_FINITE = 'not_finite'
    OVER_CAPACITY = 'over_capacity'
    NOT_UNKNOWABLE = 'not_unknowable'
    UNREACHABLE_WITH_RANKS = 'unreachable_with_ranks'
    UNREACHABLE_WITHOUT_ERROR = 'unreachable_without_error'
    NO_RANKS = 'no_ranks'
    OUT_OF_ORDER = 'out_of_order'
    RETIRED_INSTANCE = 'retired_instance'

class LoadMonitorRouterError(Exception): ...
class ConfigError(LoadMonitorRouterError, ValueError): ...

class CredentialFileError(ConfigError):
    setting: Incomplete
    path: Incomplete
    def __init__(self, setting: str, path: Path, why: str) -> None: ...

class DuplicateWorkerError(ConfigError):
    first: Incomplete
    second: Incomplete
    def __init__(self, message: str, *, first: str, second: str) -> None: ...

class ClientStateError(LoadMonitorRouterError, RuntimeError): ...
class ForkedProcessError(ClientStateError): ...

class InvalidReportError(LoadMonitorRouterError, ValueError):
    reason: Incomplete
    field: Incomplete
    dp_rank: Incomplete
    def __init__(self, reason: DropReason, message: str, *, field: str, dp_rank: int | None = None) -> None: ...

class NoReporterError(LoadMonitorRouterError): ...

class NoWorkerError(LoadMonitorRouterError):
    excluded: Incomplete
    def __init__(self, excluded: Mapping[str, str]) -> None: ...

class StreamRefusedError(LoadMonitorRouterError):
    address: Incomplete
    code: Incomplete
    def __init__(self, address: str, code: str, message: str) -> None: ...

class DiscoveryError(LoadMonitorRouterError): ...
class WorkerListError(DiscoveryError, ValueError): ...
class WatchExpiredError(DiscoveryError): ...

class MissingExtraError(LoadMonitorRouterError, ImportError):
    feature: Incomplete
    extra: Incomplete
    def __init__(self, feature: str, extra: str) -> None: ...
