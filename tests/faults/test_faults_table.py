"""docs/faults.md holds exactly the faults that have tests; each test compares its own outcomes."""

import ast
from collections.abc import Iterator
from pathlib import Path

from case import DOCUMENT, Case, Step, recorded, rows, write


def named() -> Iterator[str]:
    """Yield the name in every `pytest.mark.fault("...")` of this folder."""
    for file in sorted(Path(__file__).parent.glob("test_faults_*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.fault":
                yield ast.literal_eval(node.args[0])


def test_every_fault_has_its_rows_in_the_document_and_no_other_has() -> None:
    names = list(named())
    assert len(names) == len(set(names))
    assert sorted(names) == sorted(recorded(DOCUMENT.read_text())), "run: uv run python scripts/gen_faults.py"


def test_what_is_written_is_read_back_without_the_measured_seconds(tmp_path: Path) -> None:
    steps = [
        Step("SIGSTOP", "stale: …ms old…", "", 20, 3.14),
        Step("SIGSTOP", "missing", "", 30.5, 4.0),
        Step("SIGCONT", "", "registered: r; streams: 1", 5, 0.04),
    ]
    case = Case("a fault", steps)
    document = tmp_path / "faults.md"
    document.write_text(DOCUMENT.read_text())
    write([case], document)
    assert recorded(document.read_text()) == {"a fault": [step.cells() for step in steps]}
    assert rows(case)[0].endswith("| 20 | 3.1 |")
    assert document.read_text().splitlines()[:5] == DOCUMENT.read_text().splitlines()[:5]
