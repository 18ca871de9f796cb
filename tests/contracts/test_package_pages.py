"""Each package has a page in docs/packages with a quick start: how to install, a program of about ten lines, and what it prints."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from workspace import packages

ROOT = Path(__file__).parents[2]
MOST_LINES = 12
_OF_THE_MACHINE = re.compile(r"127\.0\.0\.1:\d+|\d+ ports")


NAMES = [package.name for package in packages()]


def lines_to_read(program: str) -> int:
    """Return how many lines a program has without imports, docstrings, comments and blank ones."""
    tree = ast.parse(program)
    passed_over = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
    ]
    left_out = {line for node in passed_over for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}
    lines = enumerate(program.splitlines(), 1)
    return sum(number not in left_out and not re.match(r" *(#|$)", line) for number, line in lines)


@pytest.mark.parametrize("name", NAMES)
def test_a_quick_start_begins_with_the_installation_and_is_about_ten_lines(name: str) -> None:
    page = (ROOT / "docs" / "packages" / f"{name}.md").read_text()
    install = rf"^```\npip install '?{name}(\[[a-z-]+\]')?\n```\n\n```{{literalinclude}} \.\./quick-starts/{name}\.py$"
    assert re.search(install, page, re.MULTILINE)
    assert lines_to_read((ROOT / "docs" / "quick-starts" / f"{name}.py").read_text()) <= MOST_LINES


@pytest.mark.parametrize("name", NAMES)
def test_a_quick_start_prints_what_its_page_says(name: str) -> None:
    page = (ROOT / "docs" / "packages" / f"{name}.md").read_text()
    assert f"../quick-starts/{name}.py" in page
    (told,) = re.findall(r"^```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    program = ROOT / "docs" / "quick-starts" / f"{name}.py"
    printed = subprocess.run([sys.executable, str(program)], check=True, capture_output=True, encoding="utf-8").stdout
    expected, seen = (_OF_THE_MACHINE.sub("N", text).splitlines() for text in (told, printed))
    assert seen[-len(expected) :] == expected  # a machine with RDMA ports prints them first
