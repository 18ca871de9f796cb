"""Run each package's own tests in an environment that holds that package, what it declares and the test tools only.

A test that needs an extra of its package says so in the package's pyproject.toml:

    [tool.loadmonitor-workspace]
    test-extras = ["grpc"]
"""

import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor

from workspace import ROOT, Package, packages, report

AT_ONCE = 2
"""Packages whose tests run at the same time: they wait for processes and sockets more than they compute."""
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
    command += ["pytest", "-q", f"{package.folder}/tests"]
    done = subprocess.run(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", check=False
    )
    # In one piece, so that packages don't talk at once.
    print(f"$ {' '.join(command)}\n{done.stdout}", flush=True)
    return done.returncode != 0


def main() -> None:
    """Run every package's tests, then name the packages that failed."""
    tools = pinned_tools()
    members = packages()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        failed = list(pool.map(lambda package: tests_fail(package, tools), members))
    report([package.name for package, has_failed in zip(members, failed, strict=True) if has_failed])


if __name__ == "__main__":
    main()
