"""scripts/newcomer.sh runs what the README tells a newcomer, word for word, and every quick start."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from workspace import ROOT, packages

README = """# Made up

Not in a block:
pip install uv && uv run nothing

```
pip install uv && uv run demo --quickly   # the main job
```

Then:

```console
$ pip install uv && uv run pytest
1 passed
```
"""


def printed(tree: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", str(tree / "scripts" / "newcomer.sh"), "--print"], capture_output=True, encoding="utf-8", check=False
    )


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a small project with one quick start."""
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "newcomer.sh", tmp_path / "scripts")
    (tmp_path / "docs" / "quick-starts").mkdir(parents=True)
    (tmp_path / "docs" / "quick-starts" / "made-up.py").touch()
    (tmp_path / "README.md").write_text(README)
    return tmp_path


def test_it_runs_the_readmes_two_commands_and_between_them_every_quick_start() -> None:
    first, *between, last = printed(ROOT).stdout.splitlines()
    assert [first, last] == ["pip install uv && uv run loadmonitor demo", "pip install uv && uv run pytest"]
    assert all(
        re.search(rf"^{re.escape(each)}( |$)", (ROOT / "README.md").read_text(), re.MULTILINE) for each in (first, last)
    )
    assert [line.rpartition(" ")[2] for line in between] == [
        f"docs/quick-starts/{package.name}.py" for package in packages()
    ]


def test_commands_are_taken_from_blocks_without_prompt_and_comment(tree: Path) -> None:
    assert printed(tree).stdout.splitlines() == [
        "pip install uv && uv run demo --quickly",
        "uv run --quiet python -W error docs/quick-starts/made-up.py",
        "pip install uv && uv run pytest",
    ]


def test_a_readme_without_two_commands_is_refused(tree: Path) -> None:
    (tree / "README.md").write_text(README.replace("$ pip install uv && ", "$ "))
    run = printed(tree)
    assert (run.returncode, run.stderr) == (1, "the README has 1 commands of set-up, not two\n")
