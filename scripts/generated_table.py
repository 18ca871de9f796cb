"""A table in a document that the code writes; shared by the scripts that do."""

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass

from workspace import ROOT

END = "<!-- up to here -->\n"


@dataclass(frozen=True)
class GeneratedTable:
    """A table between two lines of a document.

    Attributes:
        document: The document's path from the root.
        script: The script's name.
        origin: The module that the table is written from.
        table: Writes the table.
    """

    document: str
    script: str
    origin: str
    table: Callable[[], str]

    def generated(self, text: str) -> str:
        """Return the document with the table as the code has it."""
        begin = f"<!-- scripts/{self.script} writes what follows, from {self.origin} -->\n"
        before, _, rest = text.partition(begin)
        _, found, after = rest.partition(END)
        if not found:
            sys.exit(f"{self.document} lacks the lines between which the table stands: {begin!r} and {END!r}")
        return f"{before}{begin}\n{self.table()}\n{END}{after}"

    def main(self, description: str | None) -> None:
        """Write the table, or with --check exit with status 1 when it isn't up to date."""
        parser = argparse.ArgumentParser(description=description)
        parser.add_argument("--check", action="store_true", help="write nothing, fail when the table is out of date")
        path = ROOT / self.document
        text = path.read_text()
        wanted = self.generated(text)
        if not parser.parse_args().check:
            path.write_text(wanted)
        elif text != wanted:
            sys.exit(f"{self.document} is out of date: uv run python scripts/{self.script}")
