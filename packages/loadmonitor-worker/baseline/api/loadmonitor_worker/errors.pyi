from _typeshed import Incomplete
from pathlib import Path

class LoadReporterError(Exception): ...
class ConfigError(LoadReporterError, ValueError): ...

class CredentialFileError(ConfigError):
    setting: Incomplete
    path: Incomplete
    def __init__(self, setting: str, path: Path, why: str) -> None: ...

class MissingSettingError(ConfigError): ...

class SettingError(ConfigError):
    setting: Incomplete
    value: Incomplete
    rule: Incomplete
    related: Incomplete
    def __init__(self, setting: str, value: object, rule: str, *, related: tuple[str, ...] = ()) -> None: ...

class MissingExtraError(LoadReporterError, ImportError):
    feature: Incomplete
    extra: Incomplete
    def __init__(self, feature: str, extra: str) -> None: ...

class BindError(LoadReporterError, OSError):
    address: Incomplete
    reason: Incomplete
    def __init__(self, address: str, reason: str) -> None: ...

class ForkedProcessError(LoadReporterError, RuntimeError): ...
class ServingModeError(LoadReporterError): ...

class MissingHookError(ServingModeError):
    package: Incomplete
    version: Incomplete
    def __init__(self, package: str, version: str | None, hook: str) -> None: ...

class SourceError(LoadReporterError): ...

class SourceUnavailableError(SourceError):
    reason: Incomplete
    def __init__(self, reason: str, message: str) -> None: ...

class InvalidSnapshotError(SourceError):
    dp_rank: Incomplete
    field: Incomplete
    def __init__(self, message: str, *, dp_rank: int | None = None, field: str | None = None) -> None: ...
