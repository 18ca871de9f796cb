"""docs/serving-modes.md says what the code says, and what the table names is there."""

import subprocess
import sys
from pathlib import Path

import pytest

import loadmonitor_worker.integrations
import loadmonitor_worker.sources
from gen_serving_modes import DOCUMENT
from loadmonitor_worker.integrations import SERVING_MODES, SOURCES, ServingMode, SourceKind

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / "docs" / "programs"


def test_the_matrix_is_up_to_date() -> None:
    script = [sys.executable, str(ROOT / "scripts" / "gen_serving_modes.py"), "--check"]
    subprocess.run(script, check=True)


def test_a_changed_row_of_the_matrix_is_noticed_and_put_right() -> None:
    text = (ROOT / DOCUMENT.path).read_text()
    changed = text.replace("the process, in its lifespan", "somebody")
    assert changed != text
    assert DOCUMENT.put_into(changed) == text


@pytest.mark.parametrize("mode", SERVING_MODES, ids=lambda mode: mode.name)
def test_what_a_mode_runs_through_is_public_and_its_program_uses_it(mode: ServingMode) -> None:
    assert set(mode.sources) == set(SourceKind)
    if mode.example is None:
        assert mode.through == "loadmonitor-worker serve"
        return
    assert mode.through in loadmonitor_worker.integrations.__all__
    assert f"import {mode.through}\n" in (PROGRAMS / mode.example).read_text()


def test_every_source_of_the_matrix_is_there() -> None:
    assert set(SOURCES) == set(SourceKind)
    assert {name for names in SOURCES.values() for name in names} <= set(loadmonitor_worker.sources.__all__)


def test_every_program_is_the_example_of_a_mode_and_run_by_a_test() -> None:
    programs = {path.name for path in PROGRAMS.glob("*.py")}
    assert programs >= {mode.example for mode in SERVING_MODES if mode.example}
    tests = "".join(path.read_text() for path in Path(__file__).parent.glob("test_serv*_*.py"))
    tests += (Path(__file__).parent / "test_smg_servicer_wheel.py").read_text()
    assert {mode.example for mode in SERVING_MODES if mode.example and mode.example not in tests} == set()
