"""What counts as a break of a wire contract, before a release and after it."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from check_wire import breaks, write
from workspace import ROOT

PROTO = Path("proto/sglang/router/loadmonitor/v1/load_monitor.proto")
EXTENSION = "WORKER_STATE_LOADING = 1;"
PUBLISHED = "int32 dp_rank = 1;"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a copy of loadmonitor-proto's contract, never released."""
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    source = ROOT / "packages" / "loadmonitor-proto"
    for folder in ("proto", "baseline"):
        shutil.copytree(source / folder, tmp_path / folder)
    shutil.copy(source / "buf.yaml", tmp_path)
    return tmp_path


def edit(package: Path, old: str, new: str) -> None:
    text = (package / PROTO).read_text()
    assert old in text
    (package / PROTO).write_text(text.replace(old, new))


def test_a_break_of_the_published_contract_is_one_always(package: Path) -> None:
    assert breaks(package) == []
    edit(package, PUBLISHED, "int32 dp_rank = 15;")
    (line,) = breaks(package)
    assert line.startswith("breaks baseline: ")
    assert "dp_rank" in line


def test_an_extension_may_change_until_it_was_released(package: Path) -> None:
    released = (package / PROTO).read_text()
    edit(package, EXTENSION, "WORKER_STATE_LOADING = 17;")
    assert breaks(package) == []
    (package / PROTO).write_text(released)
    published = {path: path.read_text() for path in package.glob("baseline/**/*.proto")}
    write(package)
    assert breaks(package) == []
    edit(package, EXTENSION, "WORKER_STATE_LOADING = 17;")
    assert [line.partition(":")[0] for line in breaks(package)] == ["breaks released"]
    assert {path: path.read_text() for path in package.glob("baseline/**/*.proto")} == published


def test_a_package_without_a_contract_breaks_none(tmp_path: Path) -> None:
    write(tmp_path)
    assert breaks(tmp_path) == []
    assert list(tmp_path.iterdir()) == []
