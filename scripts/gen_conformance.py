"""Write how the conformance kit tests each clause into docs/conformance.md; with --check, only compare.

Fails when the kit and docs/contract.md don't have the same clauses.
"""

import sys

from check_contract import CLAUSE, ROOT
from generated_table import GeneratedDocument
from loadmonitor_router.conformance import CHECKS, Check


def row(check: Check) -> str:
    """Return one line of the table."""
    asked = "extensions" if check.is_extension else "every Worker"
    return f"| {check.clause} | {check.expects} | {check.how} | {asked} |"


def table() -> str:
    """Return a line for each clause, in the order of the contract."""
    head = "| Clause | Expected | How the kit tests it | Asked of |\n|---|---|---|---|\n"
    return head + "".join(f"{row(check)}\n" for check in CHECKS)


DOCUMENT = GeneratedDocument(
    "docs/conformance.md", "scripts/gen_conformance.py", {"loadmonitor_router.conformance": table}
)


def main() -> None:
    """Write the table, or exit with status 1 when it isn't up to date or the clauses differ."""
    clauses = CLAUSE.findall((ROOT / "docs" / "contract.md").read_text())
    known = [check.clause for check in CHECKS]
    if clauses != known:
        differing = ", ".join(sorted({*clauses} ^ {*known})) or "their order"
        sys.exit(f"docs/contract.md and the conformance kit differ in {differing}")
    DOCUMENT.main(__doc__)


if __name__ == "__main__":
    main()
