"""Runs the tests whose outcomes stand in a table of a document, and has them write it."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def run(folder: str, marker: str) -> int:
    """Run what has the marker in a folder of tests, also what is long; what else is given to the script goes to pytest.

    Returns:
        pytest's exit status; the document changes only when all had an outcome.
    """
    command = [sys.executable, "-m", "pytest", f"tests/{folder}", "-m", marker, "--write-outcomes", *sys.argv[1:]]
    return subprocess.run(command, cwd=ROOT, check=False).returncode
