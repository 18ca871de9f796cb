"""scripts/check_contract.py on small projects: what it lists, and what it fails for."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "check_contract.py"
CONTRACT = """
Text may mention **OPEN-9** without defining it.

- **OPEN-1** The first frame is `register`,
  and so on.
- **END-1** The stream ends.
"""
PROOF = """
import pytest

@pytest.mark.clause("OPEN-1", "END-1")
async def test_both():
    pass
"""


def check(project: Path, *, contract: str = CONTRACT, proof: str) -> tuple[int, str]:
    """Run a copy of the script over a project with one contract and one test file."""
    files = {"docs/contract.md": contract, "packages/a/tests/deep/test_a.py": proof}
    for name, text in files.items():
        (project / name).parent.mkdir(parents=True)
        (project / name).write_text(text)
    (project / "scripts").mkdir()
    script = shutil.copy(SCRIPT, project / "scripts")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert not done.stderr
    return done.returncode, done.stdout


def test_it_lists_the_tests_of_every_clause(tmp_path: Path) -> None:
    status, listing = check(tmp_path, proof=PROOF)
    test = "packages/a/tests/deep/test_a.py::test_both"
    assert listing.splitlines() == ["OPEN-1", f"    {test}", "END-1", f"    {test}", "2 clauses, 1 tests"]
    assert status == 0


@pytest.mark.parametrize(
    ("proof", "complaint"),
    [
        pytest.param(PROOF.replace(', "END-1"', ""), "END-1 has no test", id="no_test"),
        pytest.param(PROOF.replace("END-1", "END-7"), "test_both names END-7, which", id="unknown"),
        pytest.param(PROOF.replace("OPEN-1", "OPEN-9"), "test_both names OPEN-9, which", id="mentioned_only"),
        pytest.param(PROOF.replace("test_both", "helper"), "OPEN-1 has no test", id="not_a_test"),
        pytest.param(PROOF.replace("@pytest", "pytestmark = pytest"), "test_a.py:4: clause()", id="whole_module"),
        pytest.param(PROOF + "pytest.mark.clause()\n", "test_a.py:7: clause()", id="no_id"),
        pytest.param(PROOF.replace('"OPEN-1"', "OPEN_1"), "malformed node", id="computed_id"),
        pytest.param('"""' + PROOF + '"""', "OPEN-1 has no test", id="text_only"),
    ],
)
def test_it_fails_and_says_why(tmp_path: Path, proof: str, complaint: str) -> None:
    status, listing = check(tmp_path, proof=proof)
    assert complaint in listing
    assert status == 1


def test_a_parametrised_case_may_name_its_own_clause(tmp_path: Path) -> None:
    proof = """
import pytest

@pytest.mark.parametrize("x", [pytest.param(1, marks=pytest.mark.clause("OPEN-1"))])
@pytest.mark.clause("END-1")
def test_x(x):
    pass
"""
    assert check(tmp_path, proof=proof)[0] == 0


def test_a_clause_that_stands_twice_is_a_fault(tmp_path: Path) -> None:
    status, listing = check(tmp_path, contract=CONTRACT + "- **END-1** Again.\n", proof=PROOF)
    assert "END-1 stands twice" in listing
    assert status == 1


def test_a_contract_without_clauses_is_a_fault(tmp_path: Path) -> None:
    assert check(tmp_path, contract="nothing", proof="")[0] == 1
