"""docs/errors.md says what the code says, of every public error."""

from pathlib import Path

import pytest

from gen_errors import DOCUMENT, public_classes, what_to_do
from workspace import Package, packages

ROOT = Path(__file__).parents[2]


def test_the_tables_of_errors_are_up_to_date_and_a_changed_row_is_noticed() -> None:
    text = (ROOT / DOCUMENT.path).read_text()
    assert DOCUMENT.put_into(text) == text
    rows = ("Mend the file; it is read again at the next dialling.", "`LEASE_EXPIRED`", "Two entries carry one")
    changed = text
    for words in rows:
        assert words in text
        changed = changed.replace(words, "something else")
    assert DOCUMENT.put_into(changed) == text


@pytest.mark.parametrize("package", packages(), ids=lambda package: package.name)
def test_a_package_has_one_base_error_and_shows_it(package: Package) -> None:
    errors = {found for _, found in public_classes(package.name) if issubclass(found, Exception)}
    own_roots = [error for error in errors if not any(base in errors for base in error.__mro__[1:])]
    assert len(own_roots) <= 1, own_roots


def test_an_error_whose_bases_say_nothing_is_refused() -> None:
    class MuteError(Exception):
        """It says nothing."""

    with pytest.raises(ValueError, match="has no paragraph that begins with"):
        what_to_do(MuteError)
