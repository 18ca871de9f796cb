"""The README's program with the fakes runs as it stands."""

import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def test_the_program_of_the_readme_that_uses_the_fakes_runs() -> None:
    programs = re.findall(r"^```python\n(.*?)^```", README.read_text(), re.DOTALL | re.MULTILINE)
    (program,) = [text for text in programs if "loadmonitor_router.testing import" in text]
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True, timeout=50)
