"""The README's programs run as they stand."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from worker_process import WAIT_SECONDS

README = Path(__file__).parents[1] / "README.md"
PROGRAMS = re.findall(r"^```python\n(.*?)^```", README.read_text(), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("program", PROGRAMS, ids=range(len(PROGRAMS)))
def test_a_program_of_the_workers_readme_runs(program: str) -> None:
    command = [sys.executable, "-W", "error", "-c", program]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=WAIT_SECONDS)
    assert (run.returncode, run.stderr) == (0, "")


def test_the_workers_readme_has_programs() -> None:
    assert len(PROGRAMS) >= 3
