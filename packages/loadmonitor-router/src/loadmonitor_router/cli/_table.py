"""The table that a terminal shows, redrawn as ages grow."""

from collections import Counter
from collections.abc import Sequence

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from loadmonitor_router.age import Freshness
from loadmonitor_router.cli import _text
from loadmonitor_router.cli._view import Row, WorkerView, rows

_COLOURS = {
    Freshness.FRESH: "green",
    Freshness.STALE: "yellow",
    Freshness.UNREACHABLE: "red",
    Freshness.MISSING: "red",
}

_WIDE = 110  # columns from which bars and reasons fit beside the numbers
_NUMBERS = {"AGE": 48, "RUN": 0, "WAIT": 0, "UNCACHED": 64, "USAGE": 64, "GEN tok/s": 64}
"""The columns of numbers, and from which width of the terminal each is shown."""


class TableOutput:
    """One row for each Worker and one for each of its ranks."""

    def __init__(self, *, live: bool) -> None:
        """Prepare to draw again and again, or once."""
        self._console = Console()
        self._live = Live(console=self._console, auto_refresh=False) if live else None
        if self._live is not None:
            self._live.start()

    def show(self, shown: WorkerView) -> None:
        """Do nothing: the next drawing has it."""

    def draw(self, views: Sequence[WorkerView], trouble: str | None, /) -> None:
        """Draw everything."""
        drawing = _render(views, trouble, width=self._console.width)
        if self._live is None:
            self._console.print(drawing)
        else:
            self._live.update(drawing, refresh=True)

    def close(self) -> None:
        """Leave the last drawing on the screen."""
        if self._live is not None:
            self._live.stop()


def _render(views: Sequence[WorkerView], trouble: str | None, *, width: int) -> Group:
    """Draw the table; on a narrow terminal without bars, with fewer numbers, and with the reasons below it."""
    counts = Counter(shown.assessment.freshness for shown in views)
    verdicts = [f"{counts[freshness]} {freshness}" for freshness in Freshness if counts[freshness]]
    number = f"{len(views)} worker{'s' if len(views) > 1 else ''}" if views else "no workers known"
    summary = " · ".join([number, *verdicts])
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("WORKER", "RANK", "STATUS"):
        table.add_column(title, no_wrap=True)
    titles = [title for title, least in _NUMBERS.items() if width >= least]
    for title in titles:
        table.add_column(title, justify="right", no_wrap=True)
    wide = width >= _WIDE
    if wide:
        table.add_column("REASON", overflow="fold")
    notes = []
    for shown in views:
        for row in rows(shown):
            numbers = _numbers(row, wide=wide)
            cells = [
                Text(row.worker if row.rank == "all" else ""),
                Text(row.rank),
                Text(row.status, style=_COLOURS[row.status]),
                *(Text(numbers[title]) for title in titles),
            ]
            if wide:
                cells.append(Text(row.reason or ""))
            elif row.reason:
                notes.append(Text(f"{row.worker} {row.rank}: {row.reason}"))
            table.add_row(*cells, style="" if row.status is Freshness.FRESH else "dim")
    above = [Text(summary)] if trouble is None else [Text(summary), Text(_text.safe(trouble), style="red")]
    return Group(*above, *([table] if views else []), *notes)


def _numbers(row: Row, *, wide: bool) -> dict[str, str]:
    usage = _text.ratio(row.usage)
    return {
        "AGE": _text.age(row.age_ms),
        "RUN": _text.short_count(row.running),
        "WAIT": _text.short_count(row.waiting),
        "UNCACHED": _text.short_count(row.uncached),
        "USAGE": f"{_text.bar(row.usage)} {usage}".strip() if wide else usage,
        "GEN tok/s": _text.rate(row.generated),
    }
