"""Check what starting costs: imports bring along only what a package declares, and commands say their version and help in time.

Times are the processor's, above those of the interpreter's own start, and the least of several runs: starting waits for nothing, so an
idle machine takes as long by the clock, and a busy one may be asked too.
"""

import resource
import subprocess
import sys
import sysconfig
import tomllib
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

from workspace import ROOT, Package, packages, report

VERSION_BUDGET_MS = 150.0
HELP_BUDGET_MS = 400.0
RUNS = 10

NEVER = {"router_lifecycle": {"grpc", "google"}}
"""What an import must not bring along by way of others either."""

LOADED = """
import sys
asked, before = set(), set(sys.modules)

class Asked:
    def find_spec(name, path=None, target=None):
        frame = sys._getframe(1)
        while frame.f_globals.get("__name__", "").startswith("importlib"):
            frame = frame.f_back
        if frame.f_globals.get("__name__", "").partition(".")[0] == "{package}":
            asked.add(name.partition(".")[0])

sys.meta_path.insert(0, Asked)
import {package}
for name in {package}.__all__:
    getattr({package}, name)  # many are imported only when they are asked for
own = {{*sys.stdlib_module_names, "{package}"}}
print(*sorted(asked - own))
print(*sorted({{name.partition(".")[0] for name in set(sys.modules) - before}} - own))
"""
"""Imports a package and every public name; prints what its own modules import, and then all that comes along."""


def required(package: Package) -> set[str]:
    """Return the distributions that a package requires without extras."""
    wanted = map(Requirement, metadata.requires(package.name) or ())
    return {each.name for each in wanted if each.marker is None or each.marker.evaluate({"extra": ""})}


def import_faults() -> list[str]:
    """Return each package whose public names import what the package doesn't require without extras, or bring along what it never may."""
    found = []
    distributions = {**metadata.packages_distributions(), **{each.import_name: [each.name] for each in packages()}}
    for package in packages():
        name = package.import_name
        program = LOADED.format(package=name)
        ran = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, encoding="utf-8")
        asked, loaded = (set(line.split()) for line in ran.stdout.splitlines())
        unwanted = {each for each in asked if not required(package) & set(distributions.get(each, ()))}
        unwanted |= loaded & NEVER.get(name, set())
        print(f"import {name:20} brings along {', '.join(sorted(loaded)) or 'the standard library only'}")
        found += [f"import {name} brings along {each}" for each in sorted(unwanted)]
    return found


def least_ms(command: list[str], enough_ms: float) -> float:
    """Return the least time of a command in milliseconds, of up to `RUNS` runs; it ends early once `enough_ms` is kept."""
    least = float("inf")
    for _ in range(RUNS):
        start = _children_ms()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        least = min(least, _children_ms() - start)
        if least <= enough_ms:
            break
    return least


def _children_ms() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (used.ru_utime + used.ru_stime) * 1e3


def command_faults() -> list[str]:
    """Return each command that takes longer to start than its budget."""
    bare = least_ms([sys.executable, "-c", "pass"], enough_ms=0)
    print(f"the interpreter alone: {bare:.0f} ms")
    found = []
    for package in packages():
        project = tomllib.loads((ROOT / package.folder / "pyproject.toml").read_text())["project"]
        for command in project.get("scripts", {}):
            program = str(Path(sysconfig.get_path("scripts"), command))
            for flag, budget in (("--version", VERSION_BUDGET_MS), ("--help", HELP_BUDGET_MS)):
                above = least_ms([program, flag], bare + budget / 2) - bare
                print(f"{command} {flag}: {above:.0f} ms above it, of {budget:.0f}")
                if above > budget:
                    found.append(f"{command} {flag} takes {above:.0f} ms, and may take {budget:.0f}")
    return found


def main() -> None:
    """Print all figures, and fail when one is above its budget."""
    report([*import_faults(), *command_faults()])


if __name__ == "__main__":
    main()
