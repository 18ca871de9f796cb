"""docs/conformance.md says what the kit does, for the clauses that docs/contract.md has."""

import asyncio
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gen_conformance import DOCUMENT as GENERATED
from loadmonitor_router.testing import ScriptedWorker

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs" / "conformance.md").read_text()


def check(root: Path) -> subprocess.CompletedProcess[str]:
    script = [sys.executable, str(root / "scripts" / "gen_conformance.py"), "--check"]
    return subprocess.run(script, capture_output=True, text=True, check=False)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The documents and the scripts, to be changed."""
    for folder in ("docs", "scripts"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    return tmp_path


def test_the_table_of_clauses_is_up_to_date() -> None:
    assert check(ROOT).returncode == 0


def test_a_changed_row_is_noticed_and_put_right(copy: Path) -> None:
    changed = DOCUMENT.replace("sends five `keep_alive`", "sends six `keep_alive`")
    assert changed != DOCUMENT
    assert GENERATED.put_into(changed) == DOCUMENT
    (copy / "docs" / "conformance.md").write_text(changed)
    assert "out of date" in check(copy).stderr


def test_a_clause_that_the_kit_doesnt_have_is_a_fault(copy: Path) -> None:
    contract = copy / "docs" / "contract.md"
    contract.write_text(contract.read_text() + "- **END-5** Something new.\n")
    done = check(copy)
    assert done.returncode == 1
    assert done.stderr == "docs/contract.md and the conformance kit differ in END-5\n"


async def test_the_example_runs() -> None:
    (code,) = re.findall(r"```python\n(.+?)```", DOCUMENT, re.DOTALL)
    example: dict[str, object] = {"__name__": "example"}
    exec(code, example)  # noqa: S102 - our own document
    failures = example["failures"]
    assert callable(failures)
    async with ScriptedWorker(has_service=False) as server:
        with pytest.raises(Exception, match="without a load reporter"):
            await asyncio.wait_for(failures(server.address), timeout=30)
