"""`loadmonitor demo`, as a newcomer runs it: real processes of both packages, without a terminal."""

import subprocess
import sys
from pathlib import Path

COMMAND = str(Path(sys.executable).with_name("loadmonitor"))


def demo_processes() -> set[str]:
    """Return the command lines of every process that works in a demo's directory."""
    lines = (path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists())
    return {line.decode(errors="replace") for line in lines if b"loadmonitor-demo-" in line}


def test_the_demo_shows_a_shifting_load_a_frozen_engine_and_a_restart_and_leaves_no_process() -> None:
    before = demo_processes()
    run = subprocess.run([COMMAND, "demo"], capture_output=True, text=True, timeout=55, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stderr == ""
    lines = run.stdout.splitlines()
    assert len([line for line in lines if line.startswith("-- seen ")]) == 4
    assert len([line for line in lines if line.startswith("-- worker at 127.0.0.1:")]) == 3
    assert demo_processes() <= before
