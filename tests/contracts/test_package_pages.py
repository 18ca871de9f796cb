"""Each package has a page in docs/packages, whose quick start prints what stands there."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from workspace import packages

ROOT = Path(__file__).parents[2]
_OF_THE_MACHINE = re.compile(r"127\.0\.0\.1:\d+|\d+ ports")


@pytest.mark.parametrize("name", [package.name for package in packages()])
def test_a_quick_start_prints_what_its_page_says(name: str) -> None:
    page = (ROOT / "docs" / "packages" / f"{name}.md").read_text()
    assert f"../quick-starts/{name}.py" in page
    (told,) = re.findall(r"^```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    program = ROOT / "docs" / "quick-starts" / f"{name}.py"
    printed = subprocess.run([sys.executable, str(program)], check=True, capture_output=True, encoding="utf-8").stdout
    expected, seen = (_OF_THE_MACHINE.sub("N", text).splitlines() for text in (told, printed))
    assert seen[-len(expected) :] == expected  # a machine with RDMA ports prints them first
