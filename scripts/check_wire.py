"""Check that no wire contract breaks what a peer in the field may speak.

That is the published contract in a package's `baseline`, which never changes, and the contract of its last release in `released`, with
the extensions that came since; a release writes it (scripts/release.py). A break that is meant is waived in the package's `buf.yaml`,
under `breaking: ignore_only:`, with its reason beside it.
"""

import shutil
import subprocess
from pathlib import Path

from workspace import ROOT, packages, report

PUBLISHED, RELEASED = "baseline", "released"


def breaks(folder: Path) -> list[str]:
    """Return in what the contract of a package breaks an older one, each break on one line; nothing where it has no contract.

    Args:
        folder: The package's.
    """
    found: list[str] = []
    for older in (PUBLISHED, RELEASED) if (folder / "buf.yaml").exists() else ():
        if any((folder / older).glob("**/*.proto")):
            command = ["buf", "breaking", str(folder), "--against", str(folder / older)]
            compared = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
            lines = (compared.stdout + compared.stderr).splitlines() if compared.returncode else []
            found += [f"breaks {older}: {line}" for line in lines]
    return found


def write(folder: Path) -> None:
    """Make the present contract of a package that of its last release, where it has one."""
    if (folder / "buf.yaml").exists():
        shutil.rmtree(folder / RELEASED, ignore_errors=True)
        shutil.copytree(folder / "proto", folder / RELEASED)


def main() -> None:
    """Check every package."""
    failed = []
    for package in packages():
        if wrong := breaks(ROOT / package.folder):
            print(*(f"{package.name} {each}" for each in wrong), sep="\n")
            failed.append(package.name)
    report(failed)


if __name__ == "__main__":
    main()
