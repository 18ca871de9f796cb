"""Check a release's tag against the tree, and print `dist=DIST` for the workflow that publishes it.

The tag is DIST-vX.Y.Z, the version that of the package's pyproject.toml, and the changelog has a section of it.
"""

import sys

from release_plan import read_version
from workspace import ROOT, packages


def main() -> None:
    """Exit with status 1 and the reason where the tag and the tree differ."""
    if len(sys.argv) != 2:
        sys.exit("usage: check_tag.py DIST-vX.Y.Z")
    dist, _, version = sys.argv[1].rpartition("-v")
    package = next((each for each in packages() if each.name == dist), None)
    if package is None:
        sys.exit(
            f"{sys.argv[1]!r} names no package: a tag is DIST-vX.Y.Z, DIST one of {', '.join(each.name for each in packages())}"
        )
    folder = ROOT / package.folder
    present = read_version((folder / "pyproject.toml").read_text())
    if str(present) != version:
        sys.exit(f"the tag says {dist} {version}, pyproject.toml says {present}")
    if f"\n## {version} (" not in (folder / "CHANGELOG.md").read_text():
        sys.exit(f"{dist}'s changelog has no section of {version}")
    print(f"dist={dist}")


if __name__ == "__main__":
    main()
