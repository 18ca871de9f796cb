"""Run every fault of tests/faults, the long ones too, and write what became of them into docs/faults.md.

What else is given goes to pytest: `-k stopped` runs some, and leaves the rows of the others as they are.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    """Return pytest's exit status; the document changes only when every fault had an outcome."""
    command = [sys.executable, "-m", "pytest", "tests/faults", "-m", "fault", "--faults-table", *sys.argv[1:]]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
