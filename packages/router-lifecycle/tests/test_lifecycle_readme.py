"""The README's programs with the client run as they stand."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
CLIENT = README.read_text().partition("## Testing against a fake router\n")[0]
PROGRAMS = re.findall(r"^```python\n(.*?)^```", CLIENT, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("program", PROGRAMS, ids=range(len(PROGRAMS)))
def test_a_program_with_the_client_runs(program: str) -> None:
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True, timeout=60)


def test_there_are_five_programs_without_the_fake() -> None:
    assert len(PROGRAMS) == 5
