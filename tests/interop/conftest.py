"""Environments of other projects' releases, made once a run."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

MODELEXPRESS = "0.7.0"


@pytest.fixture(scope="session")
def modelexpress_python(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The Python of an environment that holds the released wheel of modelexpress, and nothing of ours."""
    environment = tmp_path_factory.mktemp("modelexpress") / "environment"
    uv = os.environ.get("UV", "uv")
    python = environment / "bin" / "python"
    subprocess.run(
        [uv, "venv", "--quiet", "--no-project", "--python", ">=3.11,<3.13", environment], check=True, timeout=240
    )
    requirements = [
        f"modelexpress=={MODELEXPRESS}",
        "protobuf>=6.33,<7",
        "grpcio",
        "typing-extensions",
        "prometheus-client",
    ]
    subprocess.run(
        [uv, "pip", "install", "--quiet", "--no-deps", "--python", python, *requirements], check=True, timeout=240
    )
    yield python
    shutil.rmtree(environment)
