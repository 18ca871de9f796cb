"""What a release changes in the texts of the workspace: versions, changelogs, bounds. Pure: texts in, texts out."""

import re
from enum import StrEnum
from typing import NamedTuple, Self


class PlanError(Exception):
    """A release can't be made like this; the message says what to do."""


class Bump(StrEnum):
    """By how much a version grows. FIRST keeps it: nothing was released before."""

    FIRST = "first"
    PATCH = "patch"
    MINOR = "minor"
    MAJOR = "major"


class Version(NamedTuple):
    """A version of three numbers."""

    major: int
    minor: int
    patch: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read X.Y.Z.

        Raises:
            PlanError: It is written otherwise.
        """
        if not re.fullmatch(r"\d+\.\d+\.\d+", text):
            raise PlanError(f"version {text!r} is not X.Y.Z: write it so in pyproject.toml")
        return cls(*map(int, text.split(".")))

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"

    def bumped(self, bump: Bump) -> "Version":
        """Return the version after this one."""
        match bump:
            case Bump.FIRST:
                return self
            case Bump.PATCH:
                return Version(self.major, self.minor, self.patch + 1)
            case Bump.MINOR:
                return Version(self.major, self.minor + 1, 0)
            case Bump.MAJOR:
                return Version(self.major + 1, 0, 0)

    def may_break(self, bump: Bump) -> bool:
        """Whether users of this version expect that such a bump breaks something: a minor one before 1.0, a major one ever after."""
        return bump is Bump.MAJOR or (bump is Bump.MINOR and self.major == 0)

    @property
    def bound(self) -> str:
        """What a sibling that needs this version asks for: up to the next version that may break."""
        end = f"0.{self.minor + 1}" if self.major == 0 else f"{self.major + 1}"
        return f">={self.major}.{self.minor},<{end}"


def read_version(pyproject: str) -> Version:
    """Return the version in a pyproject.toml."""
    found = re.search(r'^version = "(.*)"$', pyproject, re.MULTILINE)
    if found is None:
        raise PlanError('pyproject.toml has no line version = "X.Y.Z"')
    return Version.parse(found[1])


def write_version(pyproject: str, version: Version) -> str:
    """Return the pyproject.toml with another version."""
    return re.sub(r'^version = ".*"$', f'version = "{version}"', pyproject, count=1, flags=re.MULTILINE)


def released_changelog(changelog: str, version: Version, date: str, breaks: dict[str, str]) -> str:
    """Return the changelog with what was unreleased as the section of a version, what it breaks first.

    Args:
        changelog: The text, with a section `## Unreleased`.
        version: The version.
        date: Its day, YYYY-MM-DD.
        breaks: What it breaks, and why.

    Raises:
        PlanError: There is nothing to release.
    """
    title = f"## {version} ({date})"
    before, found, rest = changelog.partition("## Unreleased\n")
    unreleased, mark, older = rest.partition("\n## ")
    if not found or not (unreleased.strip() or breaks):
        raise PlanError("the changelog has nothing under `## Unreleased`: say there what users get")
    told = [f"- Breaks: {what}. {why}" for what, why in breaks.items()]
    body = "\n".join([*told, unreleased.strip()]).strip()
    return f"{before}## Unreleased\n\n{title}\n\n{body}\n{mark}{older}"


def with_bound(pyproject: str, sibling: str, version: Version) -> str:
    """Return a dependent's pyproject.toml, its bound moved to a sibling's new version where that lies outside of it."""
    return re.sub(
        rf"{re.escape(sibling)}>=[\d.]+(?P<end>,<[\d.]+)?(?=\")",
        lambda found: _moved(found, version, sibling),
        pyproject,
    )


def _moved(found: re.Match[str], version: Version, sibling: str) -> str:
    ends = f",{version.bound.partition(',')[2]}"
    return found[0] if found["end"] == ends else f"{sibling}{version.bound}"


def with_news(changelog: str, line: str) -> str:
    """Return a changelog with one more line of what is unreleased."""
    before, found, rest = changelog.partition("## Unreleased\n")
    if found:
        return f"{before}{found}\n- {line}\n{rest.removeprefix(chr(10))}"
    title, _, rest = changelog.partition("\n")
    return f"{title}\n\n## Unreleased\n\n- {line}\n{rest}"
