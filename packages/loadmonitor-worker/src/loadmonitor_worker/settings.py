"""Settings from code, environment and flags: one validated object, and where each of its values came from."""

import difflib
import logging
import re
import types
from collections.abc import Collection, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, Generic, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from loadmonitor_worker._listen import format_address
from loadmonitor_worker.config import ReporterConfig
from loadmonitor_worker.errors import ConfigError, MissingSettingError, SettingError

PREFIX: Final = "LOADMONITOR_"
_LINK_NAME = re.compile(r"_SERVICE_HOST$|_SERVICE_PORT(_|$)|_PORT_\d+_(TCP|UDP|SCTP)(_|$)")
_LINK_VALUE = re.compile(r"(tcp|udp|sctp)://", re.IGNORECASE)
_ADDRESS = re.compile(r"(\[[^\[\]]+\]|[^:\[\]]*):(\d{1,5})")
_TRUE = ("1", "true", "yes", "on")
_FALSE = ("0", "false", "no", "off")
_log = logging.getLogger(__name__)

ConfigT = TypeVar("ConfigT", bound=ReporterConfig)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the value of a setting came from.

    Attributes:
        kind: A command-line flag, an environment variable, the calling code, or the default.
        name: The flag, the variable, or the setting's name in code.
    """

    kind: Literal["flag", "environment", "code", "default"]
    name: str

    def __str__(self) -> str:
        return self.name if self.kind in ("flag", "environment") else self.kind


@dataclass(frozen=True, slots=True)
class LoadedSettings(Generic[ConfigT]):
    """A configuration, and the origin of each of its values by the setting's name."""

    config: ConfigT
    origins: Mapping[str, Origin]


def load_settings(
    kind: type[ConfigT],
    *,
    code: Mapping[str, object] | None = None,
    environ: Mapping[str, str] | None = None,
    flags: Mapping[str, object] | None = None,
    flag_prefix: str = "--",
) -> LoadedSettings[ConfigT]:
    """Put a configuration together: flags over environment over code over defaults.

    The variable of a setting is `LOADMONITOR_` and its name in capitals. A host and its port have one together, such as
    LOADMONITOR_LISTEN=HOST:PORT for `host` and `port`, because Kubernetes itself sets LOADMONITOR_PORT where a Service is
    named loadmonitor. A truth value is 1, true, yes, on or 0, false, no, off; several texts are separated by commas. An empty variable counts as not set. What Kubernetes sets for a Service called loadmonitor
    is passed over.

    Args:
        kind: The configuration's class.
        code: Values by the setting's name.
        environ: The process's environment; pass `os.environ`. None leaves it out.
        flags: Values by the setting's name; one that is None wasn't given.
        flag_prefix: What the flags' names begin with, before the setting's, for messages: "--load-reporter-" with `add_cli_args`.

    Raises:
        SettingError: A value isn't allowed; the message names where it came from.
        MissingSettingError: A setting without a default wasn't given.
        ConfigError: A name isn't a setting; the message names the one that was probably meant.
    """
    settings = {field.name: field for field in fields(kind)}
    hints = get_type_hints(kind)
    given: dict[str, tuple[object, Origin]] = {}
    for name, value in (code or {}).items():
        if name not in settings:
            raise ConfigError(f"{name} is no setting of {kind.__name__}{_meant(name, settings)}")
        given[name] = (value, Origin("code", name))
    flagged = {name: value for name, value in (flags or {}).items() if value is not None}
    for variable, text in _variables(environ or {}, settings):
        for name, part in _split(variable, text):
            if name in settings and name not in flagged:
                given[name] = (_read(name, part, hints[name], variable), Origin("environment", variable))
    for name, value in flagged.items():
        given[name] = (value, Origin("flag", _flag(name, flag_prefix)))
    origins = {name: given[name][1] if name in given else Origin("default", name) for name in settings}
    if missing := [name for name, field in settings.items() if name not in given and _required(field)]:
        raise MissingSettingError(f"no value for {' and '.join(missing)}: give {_ways(missing[0], flag_prefix)}")
    arguments: dict[str, Any] = {name: value for name, (value, _) in given.items()}
    try:
        return LoadedSettings(kind(**arguments), origins)
    except SettingError as error:
        raise _with_origins(error, origins) from None


def environment_of(loaded: LoadedSettings[Any]) -> dict[str, str]:
    """Return the variables from which `load_settings` reads the same configuration; settings left at their default have none."""
    variables: dict[str, str] = {}
    for name, origin in loaded.origins.items():
        variable, value = variable_of(name), getattr(loaded.config, name)
        if origin.kind == "default" or value is None or variable in variables:
            continue
        if variable.endswith("LISTEN"):
            start = re.sub("(host|port)$", "", name)
            value = format_address(getattr(loaded.config, f"{start}host"), getattr(loaded.config, f"{start}port"))
        elif isinstance(value, bool):
            value = str(value).lower()
        variables[variable] = ",".join(value) if isinstance(value, tuple) else str(value)
    return variables


def variable_of(name: str) -> str:
    """Return the environment variable of a setting."""
    return PREFIX + re.sub(r"(^|_)(host|port)$", r"\1listen", name).upper()


def _variables(environ: Mapping[str, str], settings: Mapping[str, object]) -> list[tuple[str, str]]:
    known = {variable_of(name) for name in settings}
    found = []
    for variable, text in sorted(environ.items()):
        if not variable.startswith(PREFIX):
            continue
        if variable not in known and (_LINK_NAME.search(variable) or _LINK_VALUE.match(text)):
            _log.debug("%s is passed over: it has the form of a Kubernetes service link", variable)
        elif variable not in known:
            name = variable.removeprefix(PREFIX).lower()
            meant = f": give {variable_of(name)}=HOST:PORT" if name in settings else _meant(variable, known, PREFIX)
            raise ConfigError(f"the environment variable {variable} is no setting{meant}; unset it or correct its name")
        elif text.strip():
            found.append((variable, text.strip()))
    return found


def _split(variable: str, text: str) -> list[tuple[str, str]]:
    """Return the settings that a variable gives, and the text of each."""
    name = variable.removeprefix(PREFIX).lower()
    if not name.endswith("listen"):
        return [(name, text)]
    match = _ADDRESS.fullmatch(text)
    if not match:
        raise ConfigError(f"{variable}={text!r} is not HOST:PORT: write 0.0.0.0:50061, or [::]:50061")
    start = name.removesuffix("listen")
    return [(f"{start}host", match[1].strip("[]") or "0.0.0.0"), (f"{start}port", match[2])]  # noqa: S104 - ":50061" is everywhere


def _read(name: str, text: str, hint: Any, variable: str) -> object:
    """Turn the text of a variable into what the setting's type hint wants."""
    if get_origin(hint) in (Union, types.UnionType):
        hint = next(option for option in get_args(hint) if option is not type(None))
    if get_origin(hint) is tuple:
        return tuple(filter(None, map(str.strip, text.split(","))))
    choices = get_args(hint) if get_origin(hint) is Literal else ()
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        choices = tuple(hint)
    if hint is bool:
        choices = (*_TRUE, *_FALSE)
    if choices and text not in choices:
        raise ConfigError(f"{name}={text!r} ({variable}) is not allowed: one of {', '.join(choices)} is")
    if hint is bool:
        return text in _TRUE
    if hint is int:
        if not re.fullmatch(r"[+-]?\d{1,18}", text, re.ASCII):
            raise ConfigError(f"{name}={text!r} ({variable}) is not an integer")
        return int(text)
    return Path(text) if hint is Path else text


def _required(field: "Field[object]") -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def _flag(name: str, prefix: str) -> str:
    return prefix + name.replace("_", "-")


def _ways(name: str, flag_prefix: str) -> str:
    return f"the flag {_flag(name, flag_prefix)} or the environment variable {variable_of(name)}"


def _meant(name: str, choices: Collection[str], prefix: str = "") -> str:
    # Without the prefix that all have: it would make every name resemble every other.
    bare = [choice.removeprefix(prefix) for choice in sorted(choices)]
    close = difflib.get_close_matches(name.removeprefix(prefix), bare, n=1)
    return f": did you mean {prefix}{close[0]}?" if close else f": there are {', '.join(sorted(choices))}"


def _with_origins(error: SettingError, origins: Mapping[str, Origin]) -> ConfigError:
    """Return the same error, saying where each value it speaks of came from."""
    rule = error.rule
    for name in error.related:
        if name in origins:
            rule += f"; {name} is from {origins[name]}"
    return SettingError(f"{error.setting}", error.value, f"({origins[error.setting]}) {rule}", related=error.related)
