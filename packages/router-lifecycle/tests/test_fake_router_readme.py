"""The README's programs with the fake router run as they stand."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
SECTION = README.read_text().partition("## In your tests\n")[2].partition("\n## ")[0]
PROGRAMS = re.findall(r"^```python\n(.*?)^```", SECTION, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("program", PROGRAMS, ids=range(len(PROGRAMS)))
def test_a_program_with_the_fake_router_runs(program: str) -> None:
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)


def test_there_are_two_programs_with_the_fake_router() -> None:
    assert len(PROGRAMS) == 2
