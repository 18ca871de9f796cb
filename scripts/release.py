"""Release one package: `uv run python scripts/release.py DIST first|patch|minor|major`.

In order, and nothing is kept when a step fails: interface and wire against the last release, the changelog, the bounds of dependents, the
build, the wheel's content, the wheel in an empty environment where its quick start runs, one commit, the tag DIST-vX.Y.Z. Nothing is
published from here: pushing the tag starts .github/workflows/release.yml.
"""

import argparse
import datetime as dt
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import check_api
import check_wire
import matrix
from check_wheels import content_faults
from matrix_cells import Cell
from release_plan import (
    Bump,
    PlanError,
    Version,
    read_version,
    released_changelog,
    with_bound,
    with_news,
    write_version,
)
from workspace import ROOT, Package, fails, packages


class ReleaseError(Exception):
    """The release was given up; the message says why and what to do."""


def git(*arguments: str) -> str:
    """Run git and return what it prints."""
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, encoding="utf-8").stdout


def judged_breaks(package: Package, version: Version, bump: Bump, interface: Path) -> dict[str, str]:
    """Return the breaks that this release may make, and why.

    Args:
        package: What is released.
        version: Its present version.
        bump: What users are told.
        interface: The folder with the stubs of the present interface.

    Raises:
        ReleaseError: There is one without a waiver, or the bump doesn't tell users of one.
    """
    used = bump is not Bump.FIRST  # nobody can have written code against what was never released
    wrong = check_api.faults(package, interface) if used else []
    if wrong := [*wrong, *check_wire.breaks(ROOT / package.folder)]:
        raise ReleaseError("\n".join(wrong))
    breaks = check_api.waivers(package) if used else {}
    if breaks and not version.may_break(bump):
        lines = "\n".join(f"  {each}" for each in breaks)
        raise ReleaseError(
            f"{bump} promises that nothing breaks, and this does:\n{lines}\nmake it {Bump.MINOR if version.major == 0 else Bump.MAJOR}"
        )
    return breaks


def write_texts(package: Package, version: Version, breaks: dict[str, str], interface: Path) -> None:
    """Write the version, the changelog, the baselines of the interface and the wire, and the bounds of those that need the package."""
    folder = ROOT / package.folder
    project, changelog = folder / "pyproject.toml", folder / "CHANGELOG.md"
    project.write_text(write_version(project.read_text(), version))
    today = dt.datetime.now(dt.UTC).date().isoformat()
    changelog.write_text(released_changelog(changelog.read_text(), version, today, breaks))
    check_api.write(package, interface)
    check_wire.write(folder)
    for other in packages():
        theirs, news = ROOT / other.folder / "pyproject.toml", ROOT / other.folder / "CHANGELOG.md"
        moved = with_bound(theirs.read_text(), package.name, version)
        if moved != theirs.read_text():
            theirs.write_text(moved)
            news.write_text(with_news(news.read_text(), f"Needs {package.name} {version.major}.{version.minor}."))


def build(package: Package, version: Version, out: Path) -> None:
    """Build the package, look into the wheel, and run its quick start where nothing else is installed.

    Raises:
        ReleaseError: One of these failed.
    """
    if fails("uv", "build", "--quiet", "--all-packages", "--no-sources", "--out-dir", str(out)):
        raise ReleaseError("the build failed; its output is above")
    (wheel,) = out.glob(f"{package.import_name}-{version}-*.whl")
    if wrong := content_faults(package, wheel):
        raise ReleaseError("\n".join(f"{wheel.name}: {each}" for each in wrong))
    if fails("check-wheel-contents", str(wheel)):
        raise ReleaseError("check-wheel-contents refuses the wheel; its output is above")
    with tempfile.TemporaryDirectory() as folder:
        result = matrix.run(Cell(f"{package.name} {version} alone", sys.executable, (package,)), out, Path(folder))
    if result.outcome is not matrix.Outcome.RUNS:
        raise ReleaseError(f"the quick start doesn't run in an empty environment: {result.reason}")


def main() -> None:
    """Make the release, or leave everything as it was."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dist", choices=[package.name for package in packages()], metavar="DIST")
    parser.add_argument("bump", choices=list(Bump), type=Bump, metavar="BUMP", help="first, patch, minor or major")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="where the wheel and the source archive go")
    arguments = parser.parse_args()
    (package,) = (package for package in packages() if package.name == arguments.dist)
    if git("status", "--porcelain"):
        sys.exit("the tree has changes: commit or drop them first")
    present = read_version((ROOT / package.folder / "pyproject.toml").read_text())
    version = present.bumped(arguments.bump)
    tag = f"{package.name}-v{version}"
    if git("tag", "--list", tag):
        sys.exit(f"{tag} is released already: choose patch, minor or major")
    try:
        with tempfile.TemporaryDirectory() as folder:
            interface = Path(folder)
            check_api.stubs(interface)
            breaks = judged_breaks(package, present, arguments.bump, interface)
            write_texts(package, version, breaks, interface)
        with tempfile.TemporaryDirectory() as built:
            build(package, version, Path(built))
            arguments.out.mkdir(parents=True, exist_ok=True)
            for file in Path(built).glob(f"{package.import_name}-{version}*"):
                shutil.copy(file, arguments.out)
        git("add", "--all", "packages")
        git("commit", "--quiet", "--message", f"{package.name} {version}")
        git("tag", "--annotate", tag, "--message", f"{package.name} {version}")
    except (ReleaseError, PlanError, subprocess.CalledProcessError) as error:
        git("reset", "--quiet", "--hard")
        git("clean", "--force", "-d", "--quiet", "packages")
        sys.exit(f"nothing was released: {error}")
    print(f"released {tag}; the files are in {arguments.out}; git push --follow-tags publishes it")


if __name__ == "__main__":
    main()
