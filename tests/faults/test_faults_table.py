"""docs/faults.md holds exactly the faults that have tests; each test compares its own outcomes."""

from pathlib import Path

from case import DOCUMENT, Case, Step, named, recorded, rows, write


def test_every_fault_has_its_rows_in_the_document_and_no_other_has() -> None:
    names = named()
    assert len(names) == len(set(names))
    assert sorted(names) == sorted(recorded(DOCUMENT.read_text())), "run: uv run python scripts/gen_faults.py"


def test_what_is_written_is_read_back_without_the_measured_seconds_and_other_rows_stay_unless_their_fault_is_gone(
    tmp_path: Path,
) -> None:
    steps = [
        Step("SIGSTOP", "stale: …ms old…", "", 20, 3.14),
        Step("SIGSTOP", "missing", "", 30.5, 4.0),
        Step("SIGCONT", "", "registered: r; streams: 1", 5, 0.04),
    ]
    case = Case("a fault", steps)
    document = tmp_path / "faults.md"
    document.write_text(DOCUMENT.read_text())
    kept, gone, *_ = named()
    write([case], document, [kept, "a fault"])
    written = recorded(document.read_text())
    assert list(written) == [kept, "a fault"]
    assert written[kept] == recorded(DOCUMENT.read_text())[kept]
    assert written["a fault"] == [step.cells() for step in steps]
    assert gone in recorded(DOCUMENT.read_text())
    assert rows(case)[0].endswith("| 20 | 3.1 |")
    assert document.read_text().splitlines()[:5] == DOCUMENT.read_text().splitlines()[:5]
