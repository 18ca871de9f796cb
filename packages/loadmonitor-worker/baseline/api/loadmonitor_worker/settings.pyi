from collections.abc import Mapping
from dataclasses import dataclass
from loadmonitor_worker._listen import format_address as format_address
from loadmonitor_worker.config import ReporterConfig as ReporterConfig
from loadmonitor_worker.errors import ConfigError as ConfigError, MissingSettingError as MissingSettingError, SettingError as SettingError
from typing import Any, Final, Generic, Literal, TypeVar

PREFIX: Final[str]
ConfigT = TypeVar('ConfigT', bound=ReporterConfig)

@dataclass(frozen=True, slots=True)
class Origin:
    kind: Literal['flag', 'environment', 'code', 'default']
    name: str

@dataclass(frozen=True, slots=True)
class LoadedSettings(Generic[ConfigT]):
    config: ConfigT
    origins: Mapping[str, Origin]

def load_settings(kind: type[ConfigT], *, code: Mapping[str, object] | None = None, environ: Mapping[str, str] | None = None, flags: Mapping[str, object] | None = None, flag_prefix: str = '--') -> LoadedSettings[ConfigT]: ...
def environment_of(loaded: LoadedSettings[Any]) -> dict[str, str]: ...
def variable_of(name: str) -> str: ...
