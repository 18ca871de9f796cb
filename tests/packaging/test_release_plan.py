"""What a release writes: versions, changelogs, and the bounds of those that need the package."""

import pytest

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

PROJECT = '[project]\nname = "a"\nversion = "0.1.4"\ndependencies = ["b>=0.1,<0.2", "protobuf>=5"]\n'
CHANGELOG = "# Changelog\n\n## Unreleased\n\n- News.\n\n## 0.1.4 (2026-01-01)\n\n- Old.\n"


@pytest.mark.parametrize(
    ("bump", "after"),
    [(Bump.FIRST, "0.1.4"), (Bump.PATCH, "0.1.5"), (Bump.MINOR, "0.2.0"), (Bump.MAJOR, "1.0.0")],
)
def test_a_bump_resets_the_smaller_numbers(bump: Bump, after: str) -> None:
    assert str(Version(0, 1, 4).bumped(bump)) == after


def test_before_one_a_minor_version_may_break_and_later_only_a_major_one() -> None:
    assert Version(0, 1, 0).may_break(Bump.MINOR)
    assert not Version(0, 1, 0).may_break(Bump.PATCH)
    assert not Version(1, 1, 0).may_break(Bump.MINOR)
    assert Version(1, 1, 0).may_break(Bump.MAJOR)


def test_a_siblings_bound_ends_where_the_next_break_may_come() -> None:
    assert Version(0, 2, 3).bound == ">=0.2,<0.3"
    assert Version(1, 2, 3).bound == ">=1.2,<2"


def test_the_version_is_read_and_written_in_place() -> None:
    assert read_version(PROJECT) == Version(0, 1, 4)
    assert write_version(PROJECT, Version(0, 2, 0)) == PROJECT.replace("0.1.4", "0.2.0")
    with pytest.raises(PlanError, match=r"'0\.1' is not X\.Y\.Z"):
        read_version('version = "0.1"\n')


def test_what_was_unreleased_becomes_the_versions_section_with_its_breaks_first() -> None:
    released = released_changelog(
        CHANGELOG, Version(0, 2, 0), "2026-12-01", {"a.f(x): Parameter was removed": "It did nothing."}
    )
    assert released == (
        "# Changelog\n\n## Unreleased\n\n## 0.2.0 (2026-12-01)\n\n"
        "- Breaks: a.f(x): Parameter was removed. It did nothing.\n- News.\n\n## 0.1.4 (2026-01-01)\n\n- Old.\n"
    )


def test_a_release_without_news_is_refused() -> None:
    with pytest.raises(PlanError, match="say there what users get"):
        released_changelog(CHANGELOG.replace("- News.\n", ""), Version(0, 1, 5), "2026-12-01", {})
    with pytest.raises(PlanError, match="nothing under `## Unreleased`"):
        released_changelog("# Changelog\n", Version(0, 1, 5), "2026-12-01", {})


def test_a_dependents_bound_moves_only_when_the_new_version_lies_outside_of_it() -> None:
    assert with_bound(PROJECT, "b", Version(0, 1, 9)) == PROJECT
    assert with_bound(PROJECT, "b", Version(0, 2, 0)) == PROJECT.replace("b>=0.1,<0.2", "b>=0.2,<0.3")
    assert with_bound(PROJECT, "c", Version(0, 2, 0)) == PROJECT


def test_a_line_of_news_opens_the_section_where_there_is_none() -> None:
    assert with_news(CHANGELOG, "More.").startswith("# Changelog\n\n## Unreleased\n\n- More.\n- News.\n")
    assert with_news("# Changelog\n\n## 0.1.0\n", "More.").startswith("# Changelog\n\n## Unreleased\n\n- More.\n")
