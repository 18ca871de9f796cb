"""docs/p2p-registry.md says what the code does: its programs run, its tables are complete, and the tests that it names exist."""

import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from p2p_registry.cli._connecting import RegistryFlags
from p2p_registry.prometheus import RegistryMetrics
from p2p_registry.serving import ServerConfig

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs" / "p2p-registry.md").read_text()
PROGRAMS = re.findall(r"^```python\n(.*?)^```", DOCUMENT, re.DOTALL | re.MULTILINE)
_DEFINED = re.compile(r"^ *(?:async )?def (test_\w+)\(", re.MULTILINE)


def rows(heading: str) -> list[list[str]]:
    """Return the cells of the table below a heading."""
    section = DOCUMENT.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[1:]]


@pytest.mark.parametrize("program", PROGRAMS, ids=range(len(PROGRAMS)))
def test_a_program_of_the_registrys_page_runs(program: str) -> None:
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)


def test_every_metric_of_the_registry_has_its_row_with_its_labels() -> None:
    collected = list(RegistryMetrics(backend="memory").registry.collect())
    names = {family.name + ("_total" if family.type == "counter" else "") for family in collected}
    table = {row[0].strip("`"): re.findall(r"`(\w+)`", row[1]) for row in rows("Metrics")}
    assert set(table) == names
    for family in collected:
        name = family.name + ("_total" if family.type == "counter" else "")
        labels = {label for sample in family.samples for label in sample.labels} - {"le"}
        # What nobody has asked the store for yet has no series, and so shows no label.
        assert labels == set(table[name]) or not family.samples, name


def test_every_setting_that_lets_in_or_keeps_out_has_its_flag_on_the_page() -> None:
    settings = {field.name for field in fields(ServerConfig)} | {field.name for field in fields(RegistryFlags)}
    assert {f"--{name.replace('_', '-')}" for name in settings} <= set(re.findall(r"--[a-z-]+", DOCUMENT))


def test_every_failure_names_tests_that_exist() -> None:
    files = (*ROOT.glob("packages/p2p-registry/tests/*.py"), *ROOT.glob("tests/**/test_*.py"))
    defined = {name for file in files for name in _DEFINED.findall(file.read_text())}
    failures = rows("What each failure looks like")
    assert failures
    for row in failures:
        named = re.findall(r"`(test_\w+)`", row[3])
        assert named, row
        assert not set(named) - defined, row
