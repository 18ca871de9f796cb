"""Write the tables of metric families into docs/metrics.md; with --check, only compare."""

import argparse
import sys
from pathlib import Path

from loadmonitor_router.export import metrics as router_metrics
from loadmonitor_worker import metrics as worker_metrics

DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "metrics.md"
TABLES = (router_metrics, worker_metrics)
END = "<!-- up to here -->\n"


def generated(text: str) -> str:
    """Return the document with the tables as the code has them."""
    for module in TABLES:
        begin = f"<!-- scripts/gen_metrics.py writes what follows, from {module.__name__} -->\n"
        before, _, rest = text.partition(begin)
        _, found, after = rest.partition(END)
        if not found:
            sys.exit(f"{DOCUMENT.name} lacks the lines between which a table stands: {begin!r} and {END!r}")
        text = f"{before}{begin}\n{module.markdown_table()}\n{END}{after}"
    return text


def main() -> None:
    """Write the tables, or exit with status 1 when one isn't up to date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, fail when a table is out of date")
    text = DOCUMENT.read_text()
    wanted = generated(text)
    if not parser.parse_args().check:
        DOCUMENT.write_text(wanted)
    elif text != wanted:
        sys.exit("docs/metrics.md is out of date: uv run python scripts/gen_metrics.py")


if __name__ == "__main__":
    main()
