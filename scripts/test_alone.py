"""Run each package's own tests in an environment that holds that package, what it declares and the test tools only.

A test that needs an extra of its package says so in the package's pyproject.toml:

    [tool.loadmonitor-workspace]
    test-extras = ["grpc"]
"""

import sys
import tomllib

from workspace import ROOT, Package, fails, packages, report

TEST_TOOLS = ("hypothesis", "pytest", "pytest-asyncio", "pytest-timeout", "trustme")


def pinned_tools() -> list[str]:
    """Return the test tools at the versions that the workspace pins."""
    development = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]["dev"]
    return [requirement for requirement in development if requirement.partition("==")[0] in TEST_TOOLS]


def tests_fail(package: Package, tools: list[str]) -> bool:
    """Run the tests of one package."""
    command = ["uv", "run", "--quiet", "--isolated", "--no-default-groups", "--python", sys.executable]
    command += ["--package", package.name]
    for extra in package.test_extras:
        command += ["--extra", extra]
    for tool in tools:
        command += ["--with", tool]
    return fails(*command, "pytest", "-q", f"{package.folder}/tests")


def main() -> None:
    """Run every package's tests, then name the packages that failed."""
    tools = pinned_tools()
    report([package.name for package in packages() if tests_fail(package, tools)])


if __name__ == "__main__":
    main()
