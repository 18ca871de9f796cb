"""Links of what lies outside the site lead to a file, and to a heading in it; those of the site are looked up by scripts/check_site.py."""

import re
from pathlib import Path

import pytest

from workspace import ROOT

DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("packages/*/*.md")])
_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(.*?) *$", re.MULTILINE)


def anchors(document: Path) -> set[str]:
    """Return the anchors that GitHub and MyST give to the headings of a document."""
    headings = _HEADING.findall(_FENCE.sub("", document.read_text()))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def dead_links(document: Path) -> list[str]:
    """Return the links of a document within the project that lead nowhere."""
    dead = []
    for link in _LINK.findall(_FENCE.sub("", document.read_text())):
        path, _, anchor = link.partition("#")
        target = document.parent / path if path else document
        if re.match(r"[a-z]+:", link):
            continue
        if not target.exists() or (anchor and anchor not in anchors(target)):
            dead.append(link)
    return dead


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: str(document.relative_to(ROOT)))
def test_a_link_leads_somewhere(document: Path) -> None:
    assert dead_links(document) == []


def test_a_missing_file_and_a_missing_heading_are_found(tmp_path: Path) -> None:
    document = tmp_path / "README.md"
    document.write_text(
        "# A `b`: c\n\n[x](README.md) [x](#a-b-c) [x](https://example.org/no)\n"
        "[x](docs/no.md) [x](#no) [x](README.md#no)\n\n```\n[x](in/a/program)\n# no\n```\n"
    )
    assert dead_links(document) == ["docs/no.md", "#no", "README.md#no"]
