"""An engine that installs loadmonitor-worker alone pays nothing, and is told what to install when it asks for more."""

import subprocess
from pathlib import Path

WORKER = Path(__file__).parents[2] / "packages" / "loadmonitor-worker"
PROGRAM = """
import asyncio, importlib.metadata, sys
from loadmonitor_worker import MissingExtraError, ReporterConfig, start_load_reporter
from loadmonitor_worker.sources import SyntheticSource

assert sorted(d.name for d in importlib.metadata.distributions()) == ["loadmonitor-worker"]
assert asyncio.run(start_load_reporter(ReporterConfig(port=None), None)) is None
try:
    asyncio.run(start_load_reporter(ReporterConfig(port=0), SyntheticSource(1)))
except MissingExtraError as error:
    print(error)
"""


def test_switching_reporting_on_without_its_extra_names_the_extra() -> None:
    run = subprocess.run(
        ["uv", "run", "--quiet", "--isolated", "--no-project", "--with", str(WORKER), "python", "-c", PROGRAM],
        capture_output=True,
        text=True,
        check=False,
        timeout=50,
    )
    assert (
        run.stdout == "load reporting needs an optional dependency: pip install 'loadmonitor-worker[load-reporter]'\n"
    ), run.stderr


def test_the_command_without_its_extra_says_what_to_install() -> None:
    run = subprocess.run(
        ["uv", "run", "--quiet", "--isolated", "--no-project", "--with", str(WORKER), "loadmonitor-worker", "check"],
        capture_output=True,
        text=True,
        check=False,
        timeout=50,
    )
    assert run.returncode == 1
    assert run.stderr == "loadmonitor-worker: the command needs cyclopts: pip install 'loadmonitor-worker[cli]'\n"
