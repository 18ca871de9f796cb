"""Write how the conformance kit tests each clause into docs/conformance.md; with --check, only compare.

Fails when the kit and docs/contract.md don't have the same clauses.
"""

import argparse
import sys

from check_contract import CLAUSE, ROOT
from loadmonitor_router.conformance import CHECKS, Check

DOCUMENT = ROOT / "docs" / "conformance.md"
BEGIN = "<!-- scripts/gen_conformance.py writes what follows, from loadmonitor_router.conformance -->\n"
END = "<!-- up to here -->\n"


def row(check: Check) -> str:
    """Return one line of the table."""
    asked = "extensions" if check.is_extension else "every Worker"
    return f"| {check.clause} | {check.expects} | {check.how} | {asked} |"


def table() -> str:
    """Return a line for each clause, in the order of the contract."""
    head = "| Clause | Expected | How the kit tests it | Asked of |\n|---|---|---|---|\n"
    return head + "".join(f"{row(check)}\n" for check in CHECKS)


def generated(text: str) -> str:
    """Return the document with the table as the kit has it."""
    before, _, rest = text.partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        sys.exit(f"{DOCUMENT.name} lacks the lines between which the table stands: {BEGIN!r} and {END!r}")
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


def main() -> None:
    """Write the table, or exit with status 1 when it isn't up to date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, fail when the table is out of date")
    only_compare = parser.parse_args().check
    clauses = CLAUSE.findall((ROOT / "docs" / "contract.md").read_text())
    if clauses != [check.clause for check in CHECKS]:
        differing = set(clauses) ^ {check.clause for check in CHECKS}
        sys.exit(f"docs/contract.md and the conformance kit differ in {', '.join(sorted(differing)) or 'their order'}")
    text = DOCUMENT.read_text()
    wanted = generated(text)
    if not only_compare:
        DOCUMENT.write_text(wanted)
    elif text != wanted:
        sys.exit("docs/conformance.md is out of date: uv run python scripts/gen_conformance.py")


if __name__ == "__main__":
    main()
