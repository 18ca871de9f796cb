"""The README's programs run as they stand, and it names every policy."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from p2p_selection import selector_names

README = (Path(__file__).parents[1] / "README.md").read_text()
PROGRAMS = re.findall(r"^```python\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("program", PROGRAMS, ids=range(len(PROGRAMS)))
def test_a_program_of_the_readme_runs(program: str) -> None:
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)


def test_the_readme_has_programs_and_every_policy() -> None:
    assert len(PROGRAMS) == 2
    assert all(f"| `{name}` |" in README for name in selector_names())
