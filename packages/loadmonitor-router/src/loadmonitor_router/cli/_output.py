"""The three ways to show Workers: JSON lines, plain lines, a table on a terminal."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from loadmonitor_router.cli import _text
from loadmonitor_router.cli._json import json_line, timestamp
from loadmonitor_router.cli._view import Row, WorkerView, rows
from loadmonitor_router.cli._workers import TroubleLines


class Output(Protocol):
    """Where Workers are shown."""

    def show(self, shown: WorkerView) -> None:
        """Take note of a Worker of which there is news."""

    def draw(self, views: Sequence[WorkerView], trouble: str | None, /) -> None:
        """Take note of all Workers, and of why they may not be all; called a few times a second, with or without news."""

    def close(self) -> None:
        """Leave the terminal as it was."""


def make_output(*, as_json: bool, is_terminal: bool, live: bool, width: int, brief: bool = False) -> Output:
    """Choose the way.

    Args:
        as_json: JSON was asked for.
        is_terminal: Standard output is one.
        live: More than one look is to come.
        width: Length of the longest address to expect.
        brief: Where every change is a line, leave out the ranks.
    """
    if as_json:
        return JsonOutput()
    if not is_terminal:
        return PlainOutput(width, brief=brief)
    from loadmonitor_router.cli._table import TableOutput  # noqa: PLC0415 - only a terminal needs rich

    return TableOutput(live=live)


class _LineOutput:
    """What prints news only: trouble goes to standard error."""

    def __init__(self) -> None:
        self._trouble = TroubleLines()

    def draw(self, _views: Sequence[WorkerView], trouble: str | None, /) -> None:
        """Tell of trouble."""
        self._trouble.tell(trouble)

    def close(self) -> None:
        """Do nothing."""


class JsonOutput(_LineOutput):
    """One object a line for every report, and for every change of a verdict."""

    def show(self, shown: WorkerView) -> None:
        """Print the Worker."""
        _print(json_line(shown))


class PlainOutput(_LineOutput):
    """A line for every row whose numbers, status or reason have changed, below a line of titles."""

    def __init__(self, width: int, *, brief: bool) -> None:
        """Set the width of the first column, and whether to leave out the ranks."""
        super().__init__()
        self._brief = brief
        self._format = f"{{:<24}}  {{:<{max(width, 6)}}}  {{:<4}}  {{:<11}}  {{:>6}}  {{:>5}}  {{:>5}}  {{:>9}}  {{:>5}}  {{:>9}}  {{}}"
        self._printed: dict[tuple[str, str], Row] = {}

    def show(self, shown: WorkerView) -> None:
        """Print what has changed."""
        if not self._printed:
            titles = ("TIME", "WORKER", "RANK", "STATUS", "AGE", "RUN", "WAIT", "UNCACHED", "USAGE", "GEN tok/s")
            _print(self._format.format(*titles, "REASON"))
        current = {(row.worker, row.rank): row for row in rows(shown)[: 1 if self._brief else None]}
        gone = [key for key in self._printed if key[0] == shown.worker and key not in current]
        for key in gone:
            del self._printed[key]
        for key, row in current.items():
            timeless = replace(row, age_ms=None)
            if self._printed.get(key) != timeless:
                self._printed[key] = timeless
                _print(self._line(row, shown.unix_ms).rstrip())

    def _line(self, row: Row, unix_ms: int) -> str:
        return self._format.format(
            timestamp(unix_ms),
            row.worker,
            row.rank,
            row.status,
            _text.age(row.age_ms),
            _text.count(row.running),
            _text.count(row.waiting),
            _text.count(row.uncached),
            _text.ratio(row.usage),
            _text.rate(row.generated),
            row.reason or "",
        )


def _print(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
