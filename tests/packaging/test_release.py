"""scripts/release.py and the check of interfaces, in a clone of this repository."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from workspace import ROOT

POLICY = "packages/p2p-selection/src/p2p_selection/policies/bounded_load.py"


class Clone:
    """A clone of the committed tree."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.git("clone", "--quiet", "--no-hardlinks", str(ROOT), ".", cwd=folder)
        self.git("config", "user.name", "releaser")
        self.git("config", "user.email", "releaser@example.invalid")

    def git(self, *arguments: str, cwd: Path | None = None) -> str:
        return subprocess.run(
            ["git", *arguments], cwd=cwd or self.folder, check=True, capture_output=True, encoding="utf-8"
        ).stdout

    def script(self, name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        return subprocess.run(
            [sys.executable, str(self.folder / "scripts" / name), *arguments],
            cwd=self.folder,
            env={**os.environ, "PATH": path},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )

    def edit(self, path: str, old: str, new: str) -> None:
        file = self.folder / path
        assert old in file.read_text()
        file.write_text(file.read_text().replace(old, new))
        self.git("commit", "--quiet", "--all", "--message", "edit")


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Clone:
    """Return a clone in which p2p-selection was released as 0.1.0."""
    clone = Clone(tmp_path_factory.mktemp("release"))
    done = clone.script("release.py", "p2p-selection", "first")
    assert done.returncode == 0, done.stdout + done.stderr
    return clone


@pytest.mark.timeout(300)
def test_a_release_is_one_commit_a_tag_a_baseline_and_two_files(clone: Clone) -> None:
    assert "p2p-selection-v0.1.0" in clone.git("tag").split()
    assert "p2p-selection 0.1.0" in clone.git("log", "--format=%s")
    assert (clone.folder / "packages/p2p-selection/baseline/api/p2p_selection/__init__.pyi").exists()
    assert {file.name for file in (clone.folder / "dist").iterdir()} == {
        "p2p_selection-0.1.0-py3-none-any.whl",
        "p2p_selection-0.1.0.tar.gz",
    }
    assert clone.git("status", "--porcelain") == ""
    assert clone.script("check_tag.py", "p2p-selection-v0.1.0").stdout == "dist=p2p-selection\n"
    assert "says 0.1.0" in clone.script("check_tag.py", "p2p-selection-v0.2.0").stderr


@pytest.mark.long
@pytest.mark.timeout(300)
def test_a_break_needs_a_waiver_and_a_version_that_tells_of_it(clone: Clone) -> None:
    start = clone.git("rev-parse", "HEAD").strip()
    source = (clone.folder / POLICY).read_text()
    clone.edit("packages/p2p-selection/CHANGELOG.md", "## Unreleased\n", "## Unreleased\n\n- News.\n")
    clone.edit("packages/p2p-selection/src/p2p_selection/__init__.py", '    "BoundedLoad",\n', "")

    checked = clone.script("check_api.py")
    assert checked.returncode != 0
    (line,) = (line for line in checked.stdout.splitlines() if "breaks its baseline" in line)
    broken = line.partition("breaks its baseline: ")[2]
    assert "BoundedLoad" in broken

    before = clone.git("rev-parse", "HEAD")
    refused = clone.script("release.py", "p2p-selection", "minor")
    assert refused.returncode != 0
    assert broken in refused.stderr

    waiver = clone.folder / "packages/p2p-selection/api-waivers.toml"
    waiver.write_text(f"[[waiver]]\nbreak = '{broken}'\nreason = \"Nobody used it.\"\n")
    clone.git("add", str(waiver))
    clone.git("commit", "--quiet", "--message", "waive")
    assert clone.script("check_api.py").returncode == 0
    refused = clone.script("release.py", "p2p-selection", "patch")
    assert refused.returncode != 0
    assert "make it minor" in refused.stderr
    assert clone.git("status", "--porcelain") == ""
    assert before != start
    assert (clone.folder / POLICY).read_text() == source
    assert clone.git("tag").split() == ["p2p-selection-v0.1.0"]
