"""Check that no package breaks the interface that it promised, except where a waiver says why.

The interface is what modules list in `__all__`. The promised one stands in the package's `baseline/api`, as stubs: the last release's,
which scripts/release.py writes, and before the first release what that will promise, which `--write DIST` moves. A break is waived, until the release whose number tells of it, in the package's `api-waivers.toml`:

    [[waiver]]
    break = "p2p_selection.Spread(weight): Parameter was removed"
    reason = "It never had an effect."
"""

import argparse
import re
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

import griffe

from workspace import ROOT, Package, fails, packages, report


def stubs(folder: Path) -> None:
    """Write the present interface of every package into a folder, one package beside the other."""
    sources = [str(ROOT / package.folder / "src" / package.import_name) for package in packages()]
    if fails("stubgen", "--quiet", "--output", str(folder), *sources):
        report(["stubgen"])


def baseline(package: Package) -> Path:
    """Return the folder with the stubs of what a package promised."""
    return ROOT / package.folder / "baseline" / "api"


def waivers(package: Package) -> dict[str, str]:
    """Return the waived breaks of a package and the reason of each."""
    file = ROOT / package.folder / "api-waivers.toml"
    if not file.exists():
        return {}
    return {each["break"]: each["reason"] for each in tomllib.loads(file.read_text()).get("waiver", [])}


def breaks(package: str, old: Path, new: Path) -> list[str]:
    """Return in what the interface of a package breaks the older one, each break on one line.

    Args:
        package: The name it is imported by.
        old: The folder with the stubs of the older interface.
        new: The folder with those of the newer.
    """
    before, after = (
        griffe.load(
            package, search_paths=[folder], resolve_aliases=True, resolve_external=False, try_relative_path=False
        )
        for folder in (old, new)
    )
    promised = tuple(_promised(before))
    found = []
    for breakage in griffe.find_breaking_changes(before, after):
        path = breakage.obj.path
        if any(path == name or path.startswith(f"{name}.") for name in promised):
            line = re.sub(r"\x1b\[[0-9;]*m", "", breakage.explain(griffe.ExplanationStyle.ONE_LINE))
            found.append(f"{breakage.obj.module.path}.{line.partition(': ')[2]}")
    return sorted(set(found))


def _promised(module: griffe.Object | griffe.Alias) -> Iterator[str]:
    """Yield the path of each exported name, and that of what it stands for."""
    for member in module.members.values():
        if not member.is_alias and member.is_module:
            yield from _promised(member)
    for name in module.exports or ():
        exported = module.members.get(str(name))
        yield f"{module.path}.{name}"
        if isinstance(exported, griffe.Alias):
            yield exported.target_path if not exported.resolved else exported.final_target.path


def faults(package: Package, present: Path) -> list[str]:
    """Return what is wrong with a package: breaks without a waiver, and waivers without a break or without a reason."""
    if not baseline(package).exists():
        return [f"has no baseline: uv run python scripts/check_api.py --write {package.name}"]
    found, waived = breaks(package.import_name, baseline(package), present), waivers(package)
    wrong = [f"breaks its baseline: {each}" for each in found if each not in waived]
    wrong += [f"waives what isn't broken: {each}" for each in waived if each not in found]
    return wrong + [f"waives without a reason: {each}" for each, reason in waived.items() if not reason.strip()]


def write(package: Package, present: Path) -> None:
    """Make the present interface the promised one; its waivers have served."""
    shutil.rmtree(baseline(package), ignore_errors=True)
    shutil.copytree(present / package.import_name, baseline(package) / package.import_name)
    (ROOT / package.folder / "api-waivers.toml").unlink(missing_ok=True)


def main() -> None:
    """Check every package, or write the baseline of those named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--write", nargs="+", metavar="DIST", default=(), help="make the present interface the promised one"
    )
    chosen = parser.parse_args().write
    if unknown := set(chosen) - {package.name for package in packages()}:
        sys.exit(
            f"{', '.join(sorted(unknown))}: no package here; there are {', '.join(each.name for each in packages())}"
        )
    with tempfile.TemporaryDirectory() as folder:
        present = Path(folder)
        stubs(present)
        failed = []
        for package in packages():
            if package.name in chosen:
                write(package, present)
            elif not chosen and (wrong := faults(package, present)):
                print(*(f"{package.name} {each}" for each in wrong), sep="\n")
                failed.append(package.name)
        report(failed)


if __name__ == "__main__":
    main()
