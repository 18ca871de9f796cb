"""Tests whose outcomes stand in a table of a document, such as docs/faults.md."""

from collections.abc import Generator

import case as faults
import pytest
import scenarios as routers
from outcome_table import OutcomeCase

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
