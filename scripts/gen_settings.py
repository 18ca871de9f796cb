"""Write the tables of settings into docs/settings.md; with --check, only compare."""

from collections.abc import Callable
from dataclasses import MISSING, fields

from docstring_parser import parse

from generated_table import GeneratedDocument
from loadmonitor_router import ClientConfig
from loadmonitor_worker import ReporterConfig
from loadmonitor_worker.cli._settings import ServeFlags, SidecarConfig, SourceFlags
from loadmonitor_worker.settings import variable_of
from p2p_registry import PublisherSettings
from p2p_registry.serving import ServerConfig
from p2p_selection import SelectionConfig


def table_of(flags: type[SourceFlags | ServeFlags]) -> Callable[[], str]:
    """Return what makes the table of some flags: each with its setting, variable, default and meaning."""

    def table() -> str:
        meanings = {told.arg_name: told.description or "" for told in parse(flags.__doc__ or "").params}
        defaults = {field.name: field.default for field in fields(SidecarConfig)}
        embedded = {field.name for field in fields(ReporterConfig)}
        rows = [
            (
                f"`{field.name}`",
                f"`--{field.name.replace('_', '-')}`",
                f"`{variable_of(field.name)}`",
                _text(defaults[field.name]),
                "yes" if field.name in embedded else "-",
                " ".join(meanings[field.name].split()).replace("|", "\\|"),
            )
            for field in fields(flags)
        ]
        head = ("setting", "flag", "variable", "default", "inside an engine", "meaning")
        return "".join(f"| {' | '.join(row)} |\n" for row in (head, ("---",) * len(head), *rows))

    return table


def settings_of(config: type) -> Callable[[], str]:
    """Return what makes the table of a dataclass of settings: each with its default and meaning."""

    def table() -> str:
        meanings = {told.arg_name: told.description or "" for told in parse(config.__doc__ or "").params}
        head = ("setting", "default", "meaning")
        rows = []
        for field in fields(config):
            default = field.default if field.default_factory is MISSING else field.default_factory()
            rows.append((f"`{field.name}`", _text(default), " ".join(meanings[field.name].split()).replace("|", "\\|")))
        return "".join(f"| {' | '.join(row)} |\n" for row in (head, ("---",) * len(head), *rows))

    return table


def _text(default: object) -> str:
    if default is MISSING:
        return "required"
    if default in (None, "", (), {}):
        return "-"
    if isinstance(default, tuple):
        return ", ".join(map(_text, default))
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"


IN_CODE = (ClientConfig, SelectionConfig, ServerConfig, PublisherSettings)
DOCUMENT = GeneratedDocument(
    "docs/settings.md",
    "scripts/gen_settings.py",
    {
        **{
            f"loadmonitor_worker.cli._settings.{flags.__name__}": table_of(flags) for flags in (SourceFlags, ServeFlags)
        },
        **{f"{config.__module__.partition('.')[0]}.{config.__name__}": settings_of(config) for config in IN_CODE},
    },
)

if __name__ == "__main__":
    DOCUMENT.main(__doc__)
