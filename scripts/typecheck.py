"""Check types: mypy --strict over all code, and that pyright knows the type of every public name of every package.

Each package is checked with its own tests, so that two packages may have a test file of the same name.
"""

import os
import sys
import sysconfig

from workspace import ROOT, fails, packages, report

# Programs that use the packages from outside; a folder without one is passed over.
OUTSIDE = ("tests", "scripts", "benchmarks", "docs/_extensions", "docs/programs", "docs/quick-starts")


def main() -> None:
    """Run both checkers over everything, then name what failed."""
    # Without an activated environment pyright finds no package and calls that complete.
    os.environ["VIRTUAL_ENV"] = sys.prefix
    os.environ["PATH"] = sysconfig.get_path("scripts") + os.pathsep + os.environ["PATH"]
    checks: dict[str, list[str]] = {}
    for package in packages():
        checks[f"mypy {package.name}"] = ["mypy", "--strict", f"{package.folder}/src", f"{package.folder}/tests"]
    programs = [folder for folder in OUTSIDE if any(ROOT.glob(f"{folder}/**/*.py"))]
    checks["mypy outside the packages"] = ["mypy", "--strict", *programs]
    for package in packages():
        checks[f"pyright {package.name}"] = ["pyright", "--verifytypes", package.import_name, "--ignoreexternal"]
    report([name for name, command in checks.items() if fails(*command)])


if __name__ == "__main__":
    main()
