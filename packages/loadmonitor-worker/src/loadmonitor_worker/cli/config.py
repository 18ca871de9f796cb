"""`loadmonitor-worker config`: the settings that `serve` would have here, and where each comes from."""

import asyncio
import json
import sys
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from loadmonitor_worker._redaction import without_password
from loadmonitor_worker.cli._options import closing, make_source
from loadmonitor_worker.cli._settings import (
    NO_SERVE_FLAGS,
    NO_SOURCE_FLAGS,
    ServeFlags,
    SidecarConfig,
    SourceFlags,
    sidecar_settings,
)
from loadmonitor_worker.settings import LoadedSettings, variable_of

SCHEMA = "loadmonitor-worker.config/1"


def config(
    *,
    source_flags: SourceFlags = NO_SOURCE_FLAGS,
    serve_flags: ServeFlags = NO_SERVE_FLAGS,
    show_origin: bool = False,
    json_lines: Annotated[bool, Parameter(name="--json")] = False,
) -> int:
    """Print every setting that `serve` would have with the same flags in this environment; exits 2 when it wouldn't start.

    Each flag has an environment variable, LOADMONITOR_ and its name in capitals, such as LOADMONITOR_HTTP_LISTEN; the flag
    overrides it.

    Args:
        source_flags: Where the load is read.
        serve_flags: Who is served, and how.
        show_origin: Print where each value comes from too, its environment variable and its default.
        json_lines: Print one JSON object a setting.
    """
    loaded = sidecar_settings(source_flags, serve_flags)
    rows = [
        {
            "setting": field.name,
            "value": _plain(getattr(loaded.config, field.name)),
            "origin": str(loaded.origins[field.name]),
            "variable": variable_of(field.name),
            "default": _plain(default) if (default := field.default) is not _REQUIRED else None,
        }
        for field in fields(SidecarConfig)
    ]
    shown = ("setting", "value", "origin", "variable", "default") if show_origin else ("setting", "value")
    if json_lines:
        lines = [json.dumps({"schema": SCHEMA} | {key: row[key] for key in shown}) for row in rows]
    else:
        lines = _columns([dict(zip(shown, map(str.upper, shown), strict=True)), *rows], shown)
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    asyncio.run(_try_source(loaded))
    return 0


async def _try_source(loaded: LoadedSettings[SidecarConfig]) -> None:
    """Make the source as `serve` does, which asks nobody yet: what it refuses is told below the settings."""
    async with closing(make_source(loaded)):
        pass


_REQUIRED = next(field for field in fields(SidecarConfig) if field.name == "source").default


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, str):
        return without_password(value)
    return str(value) if isinstance(value, Path) else value


def _columns(rows: list[Mapping[str, object]], shown: tuple[str, ...]) -> list[str]:
    cells = [[_text(row[key]) for key in shown] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]


def _text(value: object) -> str:
    if value in (None, "", []):
        return "-"
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
