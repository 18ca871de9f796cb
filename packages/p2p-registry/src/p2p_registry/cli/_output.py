"""How the commands print: columns for people, one JSON object a line for programs."""

import json
import sys
from collections.abc import Mapping, Sequence


def print_columns(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows below their titles, each column as wide as its widest cell, the last as it comes."""
    shown = [[_safe(cell) for cell in row] for row in (titles, *rows)]
    widths = [max(len(row[column]) for row in shown) for column in range(len(titles) - 1)]
    for row in shown:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        sys.stdout.write("  ".join([*cells, row[-1]]).rstrip() + "\n")


def print_line(cells: Sequence[str]) -> None:
    """Print one line by itself, whose width nothing before or after it shares."""
    sys.stdout.write("  ".join(map(_safe, cells)).rstrip() + "\n")


def print_json(schema: str, fields: Mapping[str, object]) -> None:
    """Print one object; null is unknown."""
    sys.stdout.write(json.dumps({"schema": schema, **fields}) + "\n")


def number(value: float | None, digits: int) -> str:
    """Return a number with so many digits after the point, or `-` where it isn't known."""
    return "-" if value is None else f"{value:.{digits}f}"


def _safe(text: str) -> str:
    """Return the text without what would steer a terminal: ids come from other processes."""
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)
