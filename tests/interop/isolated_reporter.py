"""A program that runs with this tree's reporter and another project's release, in an environment that holds nothing else."""

import os
import subprocess
import sys
from pathlib import Path

_PACKAGES = Path(__file__).parents[2] / "packages"
_UV = os.environ.get("UV", "uv")


def output_beside(requirement: str, program: str, *arguments: str) -> str:
    """Return what the program printed; it must end well and may not warn."""
    command = [_UV, "run", "--quiet", "--isolated", "--no-project", "--python", sys.executable]
    for package in ("loadmonitor-proto", "loadmonitor-worker[load-reporter]"):
        command += ["--with-editable", str(_PACKAGES / package)]
    command += ["--with", requirement, "python", "-W", "error", "-c", program, *arguments]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=55)
    assert run.returncode == 0, run.stderr
    return run.stdout
