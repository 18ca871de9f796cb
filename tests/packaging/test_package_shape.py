"""What every package of the workspace has, and where the root has to know of it."""

import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from check_wheels import content_faults
from release_plan import Version
from workspace import ROOT, Package, packages

PACKAGES = packages()
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())


def project(package: Package) -> dict[str, Any]:
    """Return the [project] table of a package."""
    table: dict[str, Any] = tomllib.loads((ROOT / package.folder / "pyproject.toml").read_text())["project"]
    return table


@pytest.fixture(params=PACKAGES, ids=lambda package: package.name)
def package(request: pytest.FixtureRequest) -> Package:
    """One package of the workspace."""
    chosen: Package = request.param
    return chosen


def test_a_package_has_a_readme_tests_and_a_changelog_that_takes_news(package: Package) -> None:
    folder = ROOT / package.folder
    assert (folder / "README.md").read_text().startswith(f"# {package.name}\n")
    assert list(folder.glob("tests/**/test_*.py"))
    assert "\n## Unreleased\n" in (folder / "CHANGELOG.md").read_text()


def test_the_development_group_brings_a_package_with_all_its_extras(package: Package) -> None:
    brought = {requirement.name: requirement for requirement in map(Requirement, SETTINGS["dependency-groups"]["dev"])}
    assert brought[package.name].extras == set(project(package).get("optional-dependencies", {}))


def test_the_import_linter_watches_a_package(package: Package) -> None:
    assert package.import_name in SETTINGS["tool"]["importlinter"]["root_packages"]


def requirements(package: Package) -> list[Requirement]:
    """Return what a package asks for, its extras included."""
    table = project(package)
    extras = [line for lines in table.get("optional-dependencies", {}).values() for line in lines]
    return [Requirement(line) for line in (*table["dependencies"], *extras)]


def test_siblings_are_bounded_below_the_next_breaking_version(package: Package) -> None:
    bounds = {each.name: Version.parse(project(each)["version"]).bound for each in PACKAGES if each != package}
    for requirement in requirements(package):
        if requirement.name in bounds:
            assert requirement.specifier == SpecifierSet(bounds[requirement.name]), str(requirement)


def test_third_parties_have_floors_only_and_protobuf_ends_before_its_next_major(package: Package) -> None:
    siblings = {each.name for each in PACKAGES}
    for requirement in requirements(package):
        if requirement.name not in siblings:
            ends = [str(clause) for clause in requirement.specifier if clause.operator != ">="]
            assert ends == (["<8"] if requirement.name == "protobuf" else []), str(requirement)
            assert len(requirement.specifier) == 1 + len(ends), f"{requirement} has no floor"


def test_a_package_carries_the_licence_of_the_whole(package: Package) -> None:
    table = project(package)
    assert (table["license"], table["license-files"]) == ("Apache-2.0", ["LICENSE"])
    assert (ROOT / package.folder / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


@pytest.mark.parametrize(
    ("left_out", "fault"),
    [
        ("made_up/py.typed", "no made_up/py.typed"),
        ("made_up-1.2.3.dist-info/licenses/LICENSE", "no made_up-1.2.3.dist-info/licenses/LICENSE"),
        ("made_up/__main__.py", "no made_up/__main__.py"),
    ],
)
def test_a_wheel_without_its_types_its_licence_or_its_command_is_refused(
    tmp_path: Path, left_out: str, fault: str
) -> None:
    files = {
        "made_up/py.typed": "",
        "made_up/__main__.py": "",
        "made_up-1.2.3.dist-info/licenses/LICENSE": "",
        "made_up-1.2.3.dist-info/entry_points.txt": "[console_scripts]\nmade-up = made_up.__main__:main\n",
    }
    made_up, wheel = Package("made-up", "packages/made-up", ()), tmp_path / "made_up-1.2.3-py3-none-any.whl"
    for missing, faults in (("", []), (left_out, [fault])):
        with zipfile.ZipFile(wheel, "w") as archive:
            for name, text in files.items():
                if name != missing:
                    archive.writestr(name, text)
        assert content_faults(made_up, wheel) == faults
