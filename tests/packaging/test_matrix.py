"""The compatibility matrix: that no cell is left out, and what counts as one that is as it should be."""

import tomllib

import pytest

from matrix import UNRESOLVABLE, Outcome, Result, judged
from matrix_cells import ON_PROTOBUF, Cell, cells
from workspace import ROOT, packages

PYTHONS = {"3.11": "python3.11", "3.12": "python3.12"}
CELLS = list(cells(PYTHONS, long=True))
LISTED = {"with a neighbour": "depends on protobuf<7"}


def result(outcome: Outcome, reason: str = "", name: str = "with a neighbour, Python 3.11") -> Result:
    return Result(Cell(name, "python3.11", ()), outcome, reason, "", 1.0)


def test_each_package_is_tried_alone_bare_oldest_and_newest_on_each_interpreter() -> None:
    for package in packages():
        single = [cell for cell in CELLS if cell.packages == (package,)]
        kinds = sorted((cell.python, cell.every_extra, cell.lowest) for cell in single)
        each = [(False, False), (True, False), (True, True)]
        assert kinds == sorted((python, *kind) for python in ("python3.11", "python3.12") for kind in each)


def test_each_protobuf_is_tried_with_both_implementations_beside_the_oldest_and_the_newest() -> None:
    kinds = {
        (cell.python, cell.requirements, *cell.environment.values(), cell.lowest) for cell in CELLS if cell.environment
    }
    protobufs = ("protobuf==5.29.5", "protobuf==6.33.*", "protobuf==7.*")
    assert kinds == {
        (python, (protobuf,), implementation, lowest)
        for python in PYTHONS.values()
        for protobuf in protobufs
        for implementation in ("upb", "python")
        for lowest in (True, False)
    }
    short = {cell.name for cell in cells(PYTHONS, long=False)}
    assert {cell.name for cell in CELLS} - short == {cell.name for cell in CELLS if cell.environment and cell.lowest}


def test_every_package_that_asks_for_protobuf_is_tried_on_each() -> None:
    (*others,) = (package for package in packages() if package.name not in ON_PROTOBUF)
    for package in others:
        assert not any("protobuf" in floor for floor in Cell("", "", (package,)).floors())


def test_the_oldest_cell_of_a_package_holds_what_its_siblings_need_low_too() -> None:
    (router,) = (package for package in packages() if package.name == "loadmonitor-router")
    assert "protobuf>=5.29.5,<8" in Cell("", "", (router,)).floors()


def test_every_package_has_a_quick_start() -> None:
    programs = {path.stem for path in (ROOT / "docs" / "quick-starts").glob("*.py")}
    assert programs == {package.name for package in packages()}


def test_what_is_on_the_list_is_a_cell() -> None:
    listed = {cell["name"] for cell in tomllib.loads(UNRESOLVABLE.read_text())["cell"]}
    assert listed <= {cell.name_without_python for cell in CELLS}


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [(Outcome.RUNS, ""), (Outcome.FAILS, "depends on protobuf<7"), (Outcome.UNRESOLVABLE, "no such release")],
)
def test_a_listed_cell_must_be_unresolvable_for_the_listed_reason(outcome: Outcome, reason: str) -> None:
    assert judged(result(Outcome.UNRESOLVABLE, "because it depends on\n  protobuf<7"), LISTED)
    assert not judged(result(outcome, reason), LISTED)


@pytest.mark.parametrize("outcome", [Outcome.FAILS, Outcome.UNRESOLVABLE])
def test_a_cell_that_is_not_listed_must_run(outcome: Outcome) -> None:
    assert judged(result(Outcome.RUNS, name="another, Python 3.11"), LISTED)
    assert not judged(result(outcome, "depends on protobuf<7", "another, Python 3.11"), LISTED)
