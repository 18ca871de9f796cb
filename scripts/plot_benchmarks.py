"""Draw the charts of docs from the runs of benchmarks whose output stands there, so that a chart shows what its table says.

uv run python benchmarks/fanout.py                   # its output goes into the document as it is
uv run python scripts/plot_benchmarks.py             # draws; --check fails where a chart is not what the output says
"""

import argparse
import re
import sys
from typing import NamedTuple

from chart import COLOURS, chart
from workspace import ROOT

DOCS = ROOT / "docs"


class PlotError(Exception):
    """A chart can't be drawn from what stands in the document; the message says which and why."""


class Plot(NamedTuple):
    """A chart of a run.

    Attributes:
        file: Its name in docs.
        document: Where the run's output stands.
        title: What the values are.
        across: What the places are.
        row: Finds a row: group `x` is its place, and either `line` and `value` a line's value, or every other group is a line of its own.
    """

    file: str
    document: str
    title: str
    across: str
    row: str


_FANOUT = r"^ +8 +(?P<x>\d+)  (?P<line>\S.*?) +\d+ +"
PLOTS = (
    Plot(
        "fanout-cpu.svg",
        "benchmarks.md",
        "CPU µs per delivered report, 8 ranks",
        "routers",
        _FANOUT + r"(?P<value>[\d.]+) ",
    ),
    Plot(
        "fanout-latency.svg",
        "benchmarks.md",
        "Reading to receipt, p99 in ms, 8 ranks",
        "routers",
        _FANOUT + r"[\d.]+ +[\d.]+ +(?P<value>[\d.]+) ",
    ),
    Plot(
        "herding-makespan.svg",
        "source-selection.md",
        "Makespan over the least possible, 32 sources",
        "pullers",
        r"^ +(?P<x>\d+) +32  (?P<line>\w+) +(?P<value>[\d.]+) ",
    ),
    Plot(
        "herding-worst.svg",
        "source-selection.md",
        "Pulls from the worst source over its fair part, 32 sources",
        "pullers",
        r"^ +(?P<x>\d+) +32  (?P<line>\w+) +[\d.]+ +(?P<value>[\d.]+) ",
    ),
    Plot(
        "ranking-cost.svg",
        "source-selection.md",
        "CPU µs of a ranking, load_aware",
        "sources",
        r"^ +(?P<x>\d+)  load_aware +(?P<modelexpress>\d+) +(?P<order_cold>\d+) +(?P<order_warm>\d+) +\d+"
        r" +(?P<top_3_cold>\d+) +(?P<top_3_warm>\d+) ",
    ),
)


def drawn(plot: Plot, text: str) -> str:
    """Return a chart as its document's text has it.

    Raises:
        PlotError: There are no rows, more lines than colours, or a line lacks a place.
    """
    lines: dict[str, dict[int, float]] = {}
    for block in re.findall(r"^```text\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        for found in re.finditer(plot.row, block, re.MULTILINE):
            groups = found.groupdict()
            place = int(groups.pop("x"))
            columns = {name.replace("_", " "): value for name, value in groups.items()}
            for name, value in ({groups["line"]: groups["value"]} if "line" in groups else columns).items():
                lines.setdefault(name, {})[place] = float(value)
    places = sorted({place for line in lines.values() for place in line})
    if len(places) < 2 or len(lines) > len(COLOURS) or any(len(line) != len(places) for line in lines.values()):
        shape = {name: sorted(line) for name, line in lines.items()}
        raise PlotError(
            f"{plot.file}: docs/{plot.document} has {shape or 'no rows'}; a chart takes up to {len(COLOURS)} lines, each with the same"
            " two places or more: put the whole output of a run there"
        )
    complete = {name: [line[place] for place in places] for name, line in lines.items()}
    return chart(plot.title, plot.across, [f"{place:,}" for place in places], complete)


def main() -> None:
    """Draw every chart, or with --check exit with status 1 when one isn't what its run says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing, fail when a chart is out of date")
    check = parser.parse_args().check
    stale = []
    try:
        for plot in PLOTS:
            svg, file = drawn(plot, (DOCS / plot.document).read_text()), DOCS / plot.file
            if not check:
                file.write_text(svg)
            elif not file.exists() or file.read_text() != svg:
                stale.append(f"docs/{plot.file}")
    except PlotError as error:
        sys.exit(str(error))
    if stale:
        sys.exit(f"out of date: {', '.join(stale)}; uv run python scripts/plot_benchmarks.py")


if __name__ == "__main__":
    main()
