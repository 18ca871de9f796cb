"""Write the table of metric families into docs/metrics.md; with --check, only compare."""

import argparse
import sys
from pathlib import Path

from loadmonitor_router.export.metrics import markdown_table

DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "metrics.md"
BEGIN = "<!-- scripts/gen_metrics.py writes what follows, from loadmonitor_router.export.metrics -->\n"
END = "<!-- up to here -->\n"


def generated(text: str) -> str:
    """Return the document with the table as the code has it."""
    before, _, rest = text.partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        sys.exit(f"{DOCUMENT.name} lacks the lines between which the table stands: {BEGIN!r} and {END!r}")
    return f"{before}{BEGIN}\n{markdown_table()}\n{END}{after}"


def main() -> None:
    """Write the table, or exit with status 1 when it isn't up to date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, fail when the table is out of date")
    text = DOCUMENT.read_text()
    wanted = generated(text)
    if not parser.parse_args().check:
        DOCUMENT.write_text(wanted)
    elif text != wanted:
        sys.exit("docs/metrics.md is out of date: uv run python scripts/gen_metrics.py")


if __name__ == "__main__":
    main()
