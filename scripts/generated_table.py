"""Tables that a script writes into a document, each between two lines of comment."""

import argparse
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
END = "<!-- up to here -->\n"


@dataclass(frozen=True)
class GeneratedDocument:
    """Where tables stand, and what makes them.

    Attributes:
        path: The document's path in the project.
        script: The script that writes the tables.
        tables: Makes each table, by what it is made from.
    """

    path: str
    script: str
    tables: Mapping[str, Callable[[], str]]

    def put_into(self, text: str) -> str:
        """Return the document with the tables as the code has them."""
        for source, make in self.tables.items():
            begin = f"<!-- {self.script} writes what follows, from {source} -->\n"
            before, _, rest = text.partition(begin)
            _, found, after = rest.partition(END)
            if not found:
                sys.exit(f"{self.path} lacks the lines between which a table stands: {begin!r} and {END!r}")
            text = f"{before}{begin}\n{make()}\n{END}{after}"
        return text

    def main(self, description: str | None) -> None:
        """Write the tables, or with --check exit with status 1 when one isn't up to date."""
        parser = argparse.ArgumentParser(description=description)
        parser.add_argument("--check", action="store_true", help="write nothing, fail when a table is out of date")
        path = ROOT / self.path
        text = path.read_text()
        wanted = self.put_into(text)
        if not parser.parse_args().check:
            path.write_text(wanted)
        elif text != wanted:
            sys.exit(f"{self.path} is out of date: uv run python {self.script}")
