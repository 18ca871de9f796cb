"""Tests whose outcomes stand in a table of a document, such as docs/faults.md, and environments of other projects' releases."""

import os
import shutil
import subprocess
from collections.abc import Generator, Iterator
from pathlib import Path

import case as faults
import pytest
import scenarios as routers
from outcome_table import OutcomeCase

MODELEXPRESS = "0.7.0"
_cases = pytest.StashKey[list[OutcomeCase]]()
_NAMES = {faults.TABLE: faults.named, routers.TABLE: routers.named}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--write-outcomes", action="store_true", help="write what became of them into the document instead of comparing"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_cases] = []


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if exitstatus == 0 and session.config.getoption("write_outcomes", False):
        cases = session.config.stash[_cases]
        for table in {case.table for case in cases}:
            table.write([case for case in cases if case.table == table], table.document, _NAMES[table]())


@pytest.fixture
def case(request: pytest.FixtureRequest) -> faults.Case:
    """Return the case of the test's marker `fault`."""
    marker = request.node.get_closest_marker("fault")
    assert marker is not None, "name the fault: @pytest.mark.fault(...)"
    return faults.Case(marker.args[0])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Function) -> Generator[None, object, object]:
    """After a test that passed, keep its outcomes or compare them with the document's."""
    result = yield
    case = item.funcargs.get("case")
    if isinstance(case, OutcomeCase):
        if item.config.getoption("write_outcomes", False):
            item.config.stash.setdefault(_cases, []).append(case)
        else:
            was = case.table.recorded(case.table.document.read_text()).get(case.name)
            assert case.table.stable(case.rows()) == was, f"run: uv run python {case.table.script}"
    return result


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
