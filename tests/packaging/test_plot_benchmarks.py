"""Charts of benchmarks are drawn from the output of a run, and from nothing else."""

import re

import pytest

from plot_benchmarks import DOCS, PLOTS, Plot, PlotError, drawn

OUTPUT = """A page.

```text
routers  way      cpu us  cold  warm
     10  ours       1000     5     7
   1000  ours         10     6     8
     10  theirs      100     -     -
   1000  theirs    10000     -     -
```

    10  ours  77777
"""
ROWS = Plot("a.svg", "a.md", "CPU", "routers", r"^ +(?P<x>\d+)  (?P<line>\w+) +(?P<value>\d+) ")
COLUMNS = ROWS._replace(row=r"^ +(?P<x>\d+)  ours +\d+ +(?P<when_cold>\d+) +(?P<warm>\d+)$")


def lines(svg: str) -> dict[str, list[tuple[float, float]]]:
    """Return the points of each line of a chart by its name in the legend."""
    drawn_lines = re.findall(r'points="([^"]*)"', svg)
    names = re.findall(r'<text x="520" y="\d+">([^<]*)<', svg)
    pairs = [[tuple(map(float, spot.split(","))) for spot in line.split()] for line in drawn_lines]
    return {name: [(x, y) for x, y in line] for name, line in zip(names, pairs, strict=True)}


def test_a_row_is_a_point_of_its_line_on_a_logarithmic_axis() -> None:
    svg = drawn(ROWS, OUTPUT)
    # 10 to 10,000 are 240 high, so that a decade is 80.
    assert lines(svg) == {"ours": [(60, 120), (480, 280)], "theirs": [(60, 200), (480, 40)]}
    assert [label in svg for label in (">10<", ">1,000<", ">10,000<", ">routers<", ">CPU<")] == [True] * 5


def test_columns_may_be_lines() -> None:
    assert list(lines(drawn(COLUMNS, OUTPUT))) == ["when cold", "warm"]


@pytest.mark.parametrize(
    ("was", "becomes"), [("   1000  theirs    10000     -     -\n", ""), ("1000  ", "10  "), ("```text", "```toml")]
)
def test_an_output_that_lacks_something_is_refused(was: str, becomes: str) -> None:
    with pytest.raises(PlotError, match=r"^a\.svg: docs/a\.md has "):
        drawn(ROWS, OUTPUT.replace(was, becomes))


@pytest.mark.parametrize("plot", PLOTS, ids=lambda plot: plot.file)
def test_a_chart_of_the_documents_is_what_its_run_says_and_is_shown(plot: Plot) -> None:
    text = (DOCS / plot.document).read_text()
    assert (DOCS / plot.file).read_text() == drawn(plot, text)
    assert f"]({plot.file})" in text
