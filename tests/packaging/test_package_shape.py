"""What every package of the workspace has, and where the root has to know of it."""

import tomllib
from typing import Any

import pytest
from packaging.requirements import Requirement

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


def test_siblings_are_bounded_below_the_next_breaking_version(package: Package) -> None:
    table = project(package)
    extras = [line for lines in table.get("optional-dependencies", {}).values() for line in lines]
    names = {sibling.name for sibling in PACKAGES} - {package.name}
    for requirement in map(Requirement, [*table["dependencies"], *extras]):
        if requirement.name in names:
            operators = sorted(clause.operator for clause in requirement.specifier)
            assert operators == ["<", ">="], f"{requirement} needs a floor and a ceiling"
