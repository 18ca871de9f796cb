"""docs/threat-model.md claims nothing without a test, and names no test that isn't there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs" / "threat-model.md"
ATTACKERS = ("router", "worker", "neighbour of the sidecar", "middlebox")
_NAMED = re.compile(r"`(test_\w+)`")
_DEFINED = re.compile(r"^(?:async )?def (test_\w+)\(", re.MULTILINE)


def claims(attacker: str) -> list[str]:
    """The lines of the table on one attacker, without its head."""
    _, _, after = DOCUMENT.read_text().partition(f"\n## A hostile {attacker}\n")
    section = after.partition("\n## ")[0]
    return [line for line in section.splitlines() if line.startswith("|")][2:]


def defined() -> set[str]:
    files = (*ROOT.glob("packages/*/tests/**/test_*.py"), *ROOT.glob("tests/**/test_*.py"))
    return {name for file in files for name in _DEFINED.findall(file.read_text())}


@pytest.mark.parametrize("attacker", ATTACKERS)
def test_every_line_on_an_attacker_says_yes_or_no_and_names_tests_that_exist(attacker: str) -> None:
    lines = claims(attacker)
    assert lines
    tests = defined()
    for line in lines:
        _, _, can, shown, _ = (cell.strip() for cell in line.split("|"))
        assert re.match(r"(yes|no)\b", can), line
        named = _NAMED.findall(shown)
        assert ", ".join(f"`{name}`" for name in named) == shown, line
        assert named, line
        assert not set(named) - tests, line


def test_every_attacker_of_the_page_is_looked_at() -> None:
    assert tuple(re.findall(r"^## A hostile (.+)$", DOCUMENT.read_text(), re.MULTILINE)) == ATTACKERS
