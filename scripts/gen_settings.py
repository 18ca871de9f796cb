"""Write the tables of the worker's settings into docs/settings.md; with --check, only compare."""

from collections.abc import Callable
from dataclasses import MISSING, fields

from docstring_parser import parse

from generated_table import GeneratedDocument
from loadmonitor_worker import ReporterConfig
from loadmonitor_worker.cli._settings import ServeFlags, SidecarConfig, SourceFlags
from loadmonitor_worker.settings import variable_of


def table_of(flags: type[SourceFlags | ServeFlags]) -> Callable[[], str]:
    """Return what makes the table of some flags: each with its setting, variable, default and meaning."""

    def table() -> str:
        meanings = {told.arg_name: told.description or "" for told in parse(flags.__doc__ or "").params}
        defaults = {field.name: field.default for field in fields(SidecarConfig)}
        embedded = {field.name for field in fields(ReporterConfig)}
        rows = []
        for field in fields(flags):
            settings = [name for name in defaults if variable_of(name) == variable_of(field.name)]
            values = [_text(defaults[name]) for name in settings]
            rows.append(
                (
                    ", ".join(f"`{name}`" for name in settings),
                    f"`--{field.name.replace('_', '-')}`",
                    f"`{variable_of(field.name)}`",
                    ", ".join(values),
                    "yes" if embedded.issuperset(settings) else "-",
                    " ".join(meanings[field.name].split()).replace("|", "\\|"),
                )
            )
        head = ("setting", "flag", "variable", "default", "inside an engine", "meaning")
        return "".join(f"| {' | '.join(row)} |\n" for row in (head, ("---",) * len(head), *rows))

    return table


def _text(default: object) -> str:
    if default is MISSING:
        return "required"
    if default in (None, "", ()):
        return "-"
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"


DOCUMENT = GeneratedDocument(
    "docs/settings.md",
    "scripts/gen_settings.py",
    {f"loadmonitor_worker.cli._settings.{flags.__name__}": table_of(flags) for flags in (SourceFlags, ServeFlags)},
)

if __name__ == "__main__":
    DOCUMENT.main(__doc__)
