"""Of the tests in `faults` each is one fault; what became of it must stand in docs/faults.md."""

from collections.abc import Generator

import pytest
from case import DOCUMENT, Case, named, recorded, write

_cases = pytest.StashKey[list[Case]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--faults-table", action="store_true", help="write what became of them into docs/faults.md instead of comparing"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_cases] = []


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if exitstatus == 0 and session.config.getoption("faults_table", False):
        write(session.config.stash[_cases], DOCUMENT, named())


@pytest.fixture
def case(request: pytest.FixtureRequest) -> Case:
    """Return the case of the test's marker `fault`."""
    marker = request.node.get_closest_marker("fault")
    assert marker is not None, "name the fault: @pytest.mark.fault(...)"
    return Case(marker.args[0])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Function) -> Generator[None, object, object]:
    """After a test that passed, keep its outcomes or compare them with the document's."""
    result = yield
    case = item.funcargs.get("case")
    if isinstance(case, Case):
        if item.config.getoption("faults_table", False):
            item.config.stash.setdefault(_cases, []).append(case)
        else:
            was = recorded(DOCUMENT.read_text()).get(case.name)
            assert [step.cells() for step in case.steps] == was, "run: uv run python scripts/gen_faults.py"
    return result
