"""Build every wheel and prove it alone: its content, and that it imports with only what it declares.

Some packages promise to install nothing beside themselves; each of them must be the only distribution of its
environment. loadmonitor-worker is one: an engine that doesn't report its load pays for no grpcio and no protobuf.
"""

import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from workspace import ROOT, Package, fails, packages, report

ALONE = ("loadmonitor-worker", "nic-metrics", "p2p-selection")

IMPORT = """
import importlib, sys
from importlib.metadata import distributions, version
name, module, alone = sys.argv[1:]
importlib.import_module(module)
installed = sorted(distribution.name for distribution in distributions())
print(f"{name} {version(name)} imports; installed: {', '.join(installed)}")
if alone == "alone" and installed != [name]:
    sys.exit(f"{name} promises to install nothing beside itself")
"""


def content_faults(package: Package, wheel: Path) -> list[str]:
    """Tell what is missing from a wheel, or should not be in it."""
    archive = zipfile.ZipFile(wheel)
    names = archive.namelist()
    described = "-".join(wheel.name.split("-")[:2]) + ".dist-info"
    wanted = [f"{package.import_name}/py.typed", f"{described}/licenses/LICENSE"]
    source = ROOT / package.folder / "proto"
    wanted += [f"{package.import_name}/proto/{file.relative_to(source)}" for file in source.glob("**/*.proto")]
    for name in names:
        if name.endswith(".dist-info/entry_points.txt"):
            scripts = re.findall(r"= *([\w.]+):", archive.read(name).decode())
            wanted += [f"{module.replace('.', '/')}.py" for module in scripts]
    faults = [f"no {name}" for name in sorted(wanted) if name not in names]
    for name in names:
        parts = Path(name).parts
        if "tests" in parts or parts[-1].startswith(("test_", "conftest.")):
            faults.append(f"test file {name}")
    return faults


def import_fails(package: Package, wheel: Path) -> bool:
    """Import the wheel in an environment of its own; siblings come from its folder, all else from the registry."""
    command = ["uv", "run", "--quiet", "--isolated", "--no-project", "--python", sys.executable]
    command += ["--find-links", str(wheel.parent), "--with", str(wheel), "python", "-W", "error", "-c", IMPORT]
    command += [package.name, package.import_name, "alone" if package.name in ALONE else "with others"]
    return subprocess.run(command, check=False).returncode != 0


def main() -> None:
    """Build, look inside, import; then name what failed."""
    with tempfile.TemporaryDirectory() as out:
        if fails("uv", "build", "--quiet", "--all-packages", "--no-sources", "--out-dir", out):
            report(["uv build"])
        failed = []
        for package in packages():
            (wheel,) = Path(out).glob(f"{package.import_name}-*.whl")
            faults = content_faults(package, wheel)
            print(*(f"{wheel.name}: {fault}" for fault in faults), sep="\n", end="\n" if faults else "")
            if fails("check-wheel-contents", str(wheel)) or faults or import_fails(package, wheel):
                failed.append(package.name)
    report(failed)


if __name__ == "__main__":
    main()
