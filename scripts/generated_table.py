"""A table that a script writes into a document, between two lines of comment."""

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
END = "<!-- up to here -->\n"


@dataclass(frozen=True)
class GeneratedTable:
    """Where a table stands, and what makes it.

    Attributes:
        document: The document's path in the project.
        script: The script that writes the table.
        source: What the table is made from.
        make: Makes it.
    """

    document: str
    script: str
    source: str
    make: Callable[[], str]

    def put_into(self, text: str) -> str:
        """Return the document with the table as the code has it."""
        begin = f"<!-- {self.script} writes what follows, from {self.source} -->\n"
        before, _, rest = text.partition(begin)
        _, found, after = rest.partition(END)
        if not found:
            sys.exit(f"{self.document} lacks the lines between which the table stands: {begin!r} and {END!r}")
        return f"{before}{begin}\n{self.make()}\n{END}{after}"

    def main(self, description: str | None) -> None:
        """Write the table, or with --check exit with status 1 when it isn't up to date."""
        parser = argparse.ArgumentParser(description=description)
        parser.add_argument("--check", action="store_true", help="write nothing, fail when the table is out of date")
        path = ROOT / self.document
        text = path.read_text()
        wanted = self.put_into(text)
        if not parser.parse_args().check:
            path.write_text(wanted)
        elif text != wanted:
            sys.exit(f"{self.document} is out of date: uv run python {self.script}")
