"""Check what starting costs: which modules an import brings along, and how long each command takes to say its version and its help.

Times are the processor's, above those of the interpreter's own start, and the least of several runs: starting waits for nothing, so an
idle machine takes as long by the clock, and a busy one may be asked too.
"""

import resource
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

from workspace import ROOT, packages, report

VERSION_BUDGET_MS = 150.0
HELP_BUDGET_MS = 400.0
RUNS = 10

STANDARD_LIBRARY_ONLY = ("nic_metrics", "p2p_selection", "loadmonitor_worker")
FORBIDDEN = {
    "router_lifecycle": {"grpc", "google"},
    "loadmonitor_proto": {"grpc"},
    "loadmonitor_router": {"httpx", "cyclopts", "rich", "prometheus_client", "lightkube", "dns"},
    "p2p_registry": {"cyclopts", "prometheus_client", "lightkube", "redis"},
}
"""What an import must not bring along, beyond what a package doesn't declare: that of its extras, and of the other systems."""

LOADED = """
import sys
before = set(sys.modules)
import {package}
print(*sorted({{name.partition(".")[0] for name in set(sys.modules) - before}} - set(sys.stdlib_module_names)))
"""


def import_faults() -> list[str]:
    """Return each package whose import brings along what it shouldn't."""
    found = []
    for package in packages():
        name = package.import_name
        program = LOADED.format(package=name)
        ran = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, encoding="utf-8")
        loaded = set(ran.stdout.split()) - {name}
        unwanted = loaded if name in STANDARD_LIBRARY_ONLY else loaded & FORBIDDEN.get(name, set())
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
