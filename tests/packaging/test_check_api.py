"""What counts as a break of an interface."""

from pathlib import Path

import pytest

from check_api import breaks

OLD = {
    "__init__.pyi": "from made_up.parts import Part as Part\n\n__all__ = ['Part']\n",
    "parts.pyi": "class Part:\n    size: int\n    def grow(self, by: int, *, slowly: bool = ...) -> None: ...\n\ndef own(x: int) -> int: ...\n",
}


def interface(folder: Path, files: dict[str, str]) -> Path:
    package = folder / "made_up"
    package.mkdir(parents=True)
    for name, text in files.items():
        (package / name).write_text(text)
    return folder


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("    size: int\n", "", "made_up.parts.Part.size: Public object was removed"),
        ("by: int", "by: int, to: int", "made_up.parts.Part.grow(to): Parameter was added as required"),
        ("by: int, ", "", "made_up.parts.Part.grow(by): Parameter was removed"),
        ("class Part", "class Whole", "made_up.parts.Part: Public object was removed"),
    ],
)
def test_what_users_could_use_and_no_longer_can_is_a_break(tmp_path: Path, old: str, new: str, found: str) -> None:
    before = interface(tmp_path / "old", OLD)
    after = interface(tmp_path / "new", {**OLD, "parts.pyi": OLD["parts.pyi"].replace(old, new)})
    assert found in breaks("made_up", before, after)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("by: int", "by: int, to: int = ..."),
        ("    size: int\n", "    size: int\n    weight: int\n"),
        ("def own(x: int) -> int: ...\n", ""),
    ],
)
def test_additions_and_what_is_not_exported_are_no_breaks(tmp_path: Path, old: str, new: str) -> None:
    before = interface(tmp_path / "old", OLD)
    after = interface(tmp_path / "new", {**OLD, "parts.pyi": OLD["parts.pyi"].replace(old, new)})
    assert breaks("made_up", before, after) == []
