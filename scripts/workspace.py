"""The packages of this workspace, and running a command from its root; shared by the other scripts."""

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]


class Package(NamedTuple):
    """A member of the workspace.

    Attributes:
        name: The distribution's name, also its folder's.
        folder: Where it lies, from the root.
        test_extras: The extras that its own tests need: `test-extras` in its `[tool.loadmonitor-workspace]`.
    """

    name: str
    folder: str
    test_extras: tuple[str, ...]

    @property
    def import_name(self) -> str:
        """The name it is imported by."""
        return self.name.replace("-", "_")


def packages() -> list[Package]:
    """Return every package, by name."""
    members = []
    for file in sorted(ROOT.glob("packages/*/pyproject.toml")):
        settings = tomllib.loads(file.read_text())
        extras = settings["tool"].get("loadmonitor-workspace", {}).get("test-extras", ())
        members.append(Package(settings["project"]["name"], f"packages/{file.parent.name}", tuple(extras)))
    return members


def fails(*command: str) -> bool:
    """Run a command from the root, print it and what it prints, and tell whether it failed."""
    print("$", *command, flush=True)
    return subprocess.run(command, cwd=ROOT, check=False).returncode != 0


def report(failed: list[str]) -> None:
    """Exit with status 1 and the list of what failed, or return when nothing did."""
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")
