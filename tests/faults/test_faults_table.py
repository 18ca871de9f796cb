"""docs/faults.md holds exactly the faults that have tests; each test compares its own outcomes."""

from pathlib import Path

from case import TABLE, Case, Step, named


def test_every_fault_has_its_rows_in_the_document_and_no_other_has() -> None:
    names = named()
    assert len(names) == len(set(names))
    assert sorted(names) == sorted(TABLE.recorded(TABLE.document.read_text())), f"run: uv run python {TABLE.script}"


def test_what_is_written_is_read_back_without_the_measured_seconds_and_other_rows_stay_unless_their_fault_is_gone(
    tmp_path: Path,
) -> None:
    steps = [
        Step("SIGSTOP", "stale: …ms old…", "", 20, 3.14),
        Step("SIGSTOP", "missing", "", 30.5, 4.0),
        Step("SIGCONT", "", "registered: r; streams: 1", 5, 0.04),
    ]
    case = Case("a fault", steps)
    before = TABLE.document.read_text()
    document = tmp_path / "faults.md"
    document.write_text(before)
    kept, gone, *_ = named()
    TABLE.write([case], document, [kept, "a fault"])
    written = TABLE.recorded(document.read_text())
    assert list(written) == [kept, "a fault"]
    assert written[kept] == TABLE.recorded(before)[kept]
    assert written["a fault"] == [
        ("SIGSTOP", "stale: …ms old…", "", "20"),
        ("SIGSTOP", "missing", "", "30.5"),
        ("SIGCONT", "", "registered: r; streams: 1", "5"),
    ]
    assert gone in TABLE.recorded(before)
    assert case.rows()[0].endswith("| 20 | 3.1 |")
    assert document.read_text().splitlines()[:5] == before.splitlines()[:5]
