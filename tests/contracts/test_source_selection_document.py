"""docs/source-selection.md says what the code does: its programs run, and its tables are complete."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from p2p_selection import AttemptOutcome, DropReason, Stage, selector_names
from p2p_selection.prometheus import LIST_RESULTS, SelectionMetrics

DOCUMENT = (Path(__file__).parents[2] / "docs" / "source-selection.md").read_text()
PROGRAMS = re.findall(r"^```python\n(.*?)^```", DOCUMENT, re.DOTALL | re.MULTILINE)


def rows(heading: str) -> list[list[str]]:
    """Return the cells of the table below a heading."""
    section = DOCUMENT.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[1:]]


@pytest.mark.parametrize("program", PROGRAMS, ids=range(len(PROGRAMS)))
def test_a_program_of_the_page_runs(program: str) -> None:
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)


def test_every_policy_and_every_reason_has_its_row() -> None:
    assert {row[0].strip("`") for row in rows("Policies")} == set(selector_names())
    assert [row[0].strip("`") for row in rows("The pipeline")] == [reason.value for reason in DropReason]


def test_every_metric_has_its_row_with_every_value_of_its_labels() -> None:
    metrics = SelectionMetrics(registry=CollectorRegistry())
    names = {family.name + ("_total" if family.type == "counter" else "") for family in metrics.registry.collect()}
    table = {row[0].strip("`"): row[1] for row in rows("Metrics")}
    assert set(table) == names
    assert table["mx_p2p_list_sources_total"] == f"`result`: {', '.join(LIST_RESULTS)}"
    assert table["mx_p2p_source_attempts_total"] == f"`result`: {', '.join(AttemptOutcome)}"
    assert table["mx_p2p_candidates"] == f"`stage`: {', '.join(Stage)}"
