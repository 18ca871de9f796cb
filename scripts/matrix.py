"""Run the compatibility matrix: every wheel alone, oldest and newest, on each protobuf, together, and beside its neighbours.

In each cell the quick starts of docs/quick-starts run with warnings as errors; with every extra, every module must import too. Nothing is
left out: a cell that can't be resolved shows why, and must stand on the list in scripts/matrix-unresolvable.toml.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from generated_table import GeneratedDocument
from matrix_cells import Cell, cells
from workspace import ROOT, fails, report

AT_ONCE = 2
SUPPORTED = ("3.11", "3.12", "3.13", "3.14")
UNRESOLVABLE = ROOT / "scripts" / "matrix-unresolvable.toml"
SHOWN = ("protobuf", "grpcio")

RUN = """
import importlib, pkgutil, runpy, sys, sysconfig, warnings
from pathlib import Path
generated, every, *programs = sys.argv[1:]
if generated:
    with warnings.catch_warnings(action="ignore"):  # somebody else's
        if generated.endswith(".py"):
            runpy.run_path(str(Path(sysconfig.get_path("purelib")) / generated))
        else:
            importlib.import_module(generated)
for program in programs:
    package = importlib.import_module(Path(program).stem.replace("-", "_"))
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + ".") if every else ():
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    runpy.run_path(program, run_name="__main__")
"""


class Outcome(StrEnum):
    """What became of a cell."""

    RUNS = "runs"
    FAILS = "FAILS"
    UNRESOLVABLE = "unresolvable"


class Result(NamedTuple):
    """A cell's outcome, the reason where it isn't that it runs, what was installed of note, and how long it took."""

    cell: Cell
    outcome: Outcome
    reason: str
    installed: str
    seconds: float


def interpreters() -> dict[str, str]:
    """Return the supported interpreters of this machine by version: those that uv finds, and pyenv's that aren't switched on."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found: dict[str, str] = {}
    for version in SUPPORTED:
        if sys.version_info[:2] == tuple(map(int, version.split("."))):
            found[version] = sys.executable
            continue
        asked = subprocess.run(["uv", "python", "find", version], capture_output=True, encoding="utf-8", check=False)
        at_pyenv = sorted(pyenv.glob(f"{version}.*/bin/python{version}"))
        if asked.returncode == 0:
            found[version] = asked.stdout.strip()
        elif at_pyenv:
            found[version] = str(at_pyenv[-1])
    return found


def run(cell: Cell, wheels: Path, folder: Path) -> Result:
    """Make the environment of a cell and run what must run in it."""
    start = time.monotonic()

    def result(outcome: Outcome, reason: str = "", installed: str = "") -> Result:
        return Result(cell, outcome, reason, installed, time.monotonic() - start)

    def uv(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["uv", *arguments], capture_output=True, encoding="utf-8", check=False)

    place = folder / "".join(letter if letter.isalnum() else "-" for letter in cell.name)
    made = uv("venv", "--quiet", "--python", cell.python, str(place))
    if made.returncode:
        return result(Outcome.FAILS, made.stderr)
    python = str(place / "bin" / "python")
    wanted = [*cell.requirements, *(cell.floors() if cell.lowest else ())]
    for package in cell.packages:
        (wheel,) = wheels.glob(f"{package.import_name}-*.whl")
        extras = f"[{','.join(cell.extras(package))}]" if cell.extras(package) else ""
        wanted.append(f"{package.name}{extras} @ {wheel.as_uri()}")
    common = ["--quiet", "--python", python, "--find-links", str(wheels)]
    resolution = ["--resolution", "lowest-direct" if cell.lowest else "highest"]
    if cell.neighbour is not None:
        listed = place / "wanted.in"
        listed.write_text("\n".join([*wanted, cell.neighbour.requirement]))
        resolved = uv("pip", "compile", *common, str(listed), "--output-file", str(place / "wanted.txt"))
        if resolved.returncode:
            return result(Outcome.UNRESOLVABLE, resolved.stderr)
        wanted += cell.neighbour.shared
    installed = uv("pip", "install", *common, *resolution, *wanted)
    if installed.returncode:
        return result(Outcome.UNRESOLVABLE, installed.stderr)
    if cell.neighbour is not None:
        beside = uv("pip", "install", *common, "--no-deps", cell.neighbour.requirement)
        if beside.returncode:
            return result(Outcome.FAILS, beside.stderr)
    versions = uv("pip", "freeze", "--python", python).stdout.splitlines()
    noted = ", ".join(line.replace("==", " ") for line in versions if line.partition("==")[0] in SHOWN)
    programs = [str(ROOT / "docs" / "quick-starts" / f"{package.name}.py") for package in cell.packages]
    generated = (cell.neighbour and cell.neighbour.generated) or ""
    ran = subprocess.run(
        [python, "-W", "error", "-c", RUN, generated, "every" if cell.every_extra else "", *programs],
        env={**os.environ, **cell.environment},
        cwd=place,
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=120,
    )
    return result(Outcome.FAILS if ran.returncode else Outcome.RUNS, ran.stderr if ran.returncode else "", noted)


def judged(result: Result, expected: dict[str, str]) -> bool:
    """Whether a cell is as it should be: it runs, or it is on the list with the reason that was shown."""
    listed = expected.get(result.cell.name_without_python)
    if listed is None:
        return result.outcome is Outcome.RUNS
    return result.outcome is Outcome.UNRESOLVABLE and listed in " ".join(result.reason.split())


def table(results: list[Result], expected: dict[str, str]) -> str:
    """Return the matrix as a Markdown table."""
    lines = ["| cell | outcome | protobuf and grpcio |", "| --- | --- | --- |"]
    for result in results:
        reason = expected.get(result.cell.name_without_python)
        why = f": {reason}" if reason is not None else ""
        lines.append(f"| {result.cell.name} | {result.outcome}{why} | {result.installed or '-'} |")
    return "\n".join([*lines, ""])


def main() -> None:
    """Run the cells, print each as it ends, and fail when one isn't as it should be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--long",
        action="store_true",
        help="on every interpreter found, not on this one alone, and each protobuf beside the oldest of the others too",
    )
    parser.add_argument("--write", action="store_true", help="write docs/compatibility.md too; with --long")
    parser.add_argument("--only", default="", help="cells whose name contains this")
    arguments = parser.parse_args()
    found = interpreters()
    here = f"{sys.version_info[0]}.{sys.version_info[1]}"
    pythons = found if arguments.long else {here: sys.executable}
    chosen = [cell for cell in cells(pythons, long=arguments.long) if arguments.only in cell.name]
    expected = {cell["name"]: cell["reason"] for cell in tomllib.loads(UNRESOLVABLE.read_text()).get("cell", [])}
    print(f"interpreters found: {', '.join(found)}; {len(chosen)} cells")
    results: list[Result] = []
    with tempfile.TemporaryDirectory() as temporary, ThreadPoolExecutor(AT_ONCE) as pool:
        wheels, folder = Path(temporary, "wheels"), Path(temporary, "cells")
        if fails("uv", "build", "--quiet", "--all-packages", "--no-sources", "--wheel", "--out-dir", str(wheels)):
            report(["uv build"])
        for result in pool.map(lambda cell: run(cell, wheels, folder), chosen):
            results.append(result)
            print(f"{result.outcome:12}  {result.seconds:5.1f} s  {result.cell.name}  ({result.installed})", flush=True)
            if result.reason:
                print(result.reason, flush=True)
    if arguments.write:
        document = GeneratedDocument(
            "docs/compatibility.md", "scripts/matrix.py", {"a run": lambda: table(results, expected)}
        )
        path = ROOT / document.path
        path.write_text(document.put_into(path.read_text()))
    report([result.cell.name for result in results if not judged(result, expected)])


if __name__ == "__main__":
    main()
