"""`loadmonitor demo`, as a newcomer runs it: real processes of both packages, without a terminal."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = str(Path(sys.executable).with_name("loadmonitor"))


def demo_processes() -> set[str]:
    """Return the command lines of every process that works in a demo's directory."""
    lines = (path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists())
    return {line.decode(errors="replace") for line in lines if b"loadmonitor-demo-" in line}


@pytest.mark.parametrize(
    ("number", "lines", "code"),
    [
        pytest.param(signal.SIGTERM, 0, 1, id="terminated at once"),
        pytest.param(signal.SIGHUP, 1, 1, id="terminal closed while it starts"),
        pytest.param(signal.SIGINT, 4, 130, id="interrupted while it watches"),
        pytest.param(signal.SIGKILL, 4, -signal.SIGKILL, id="killed while it watches"),
    ],
)
def test_whatever_ends_the_demo_its_processes_go_with_it(number: int, lines: int, code: int) -> None:
    before = demo_processes()
    with subprocess.Popen([COMMAND, "demo"], stdout=subprocess.PIPE, text=True) as demo:
        assert demo.stdout is not None
        if lines:
            for _ in range(lines):
                demo.stdout.readline()
        else:
            while demo_processes() <= before:
                assert demo.poll() is None
        demo.send_signal(number)
        assert demo.wait(timeout=20) == code
    while not demo_processes() <= before:
        pass


def test_the_demo_shows_a_shifting_load_a_frozen_engine_and_a_restart_and_leaves_no_process() -> None:
    before = demo_processes()
    run = subprocess.run([COMMAND, "demo"], capture_output=True, text=True, timeout=55, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stderr == ""
    lines = run.stdout.splitlines()
    assert len([line for line in lines if line.startswith("-- seen ")]) == 4
    assert len([line for line in lines if line.startswith("-- worker at 127.0.0.1:")]) == 3
    assert demo_processes() <= before
