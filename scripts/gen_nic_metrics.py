"""Write the tables of reasons into docs/nic-metrics.md; with --check, only compare."""

import ast
import inspect
from collections.abc import Iterator
from enum import StrEnum
from functools import partial

from generated_table import GeneratedDocument
from nic_metrics import (
    LinkRateProblem,
    NoNicReason,
    ScrapeProblem,
    ServingLoadReason,
    SignalReason,
    SkipReason,
    UnknownReason,
)

ENUMS = (UnknownReason, SkipReason, LinkRateProblem, NoNicReason, ServingLoadReason, ScrapeProblem, SignalReason)


def table(reasons: type[StrEnum]) -> str:
    """Return the values of an enum with what each means, as Markdown."""
    meanings = dict(_meanings(reasons))
    rows = [f"| `{reason}` | {meanings[reason.name]} |" for reason in reasons]
    return "\n".join(["| reason | meaning |", "|---|---|", *rows, ""])


def _meanings(reasons: type[StrEnum]) -> Iterator[tuple[str, str]]:
    """Give the name of each member and the text below it."""
    (definition,) = ast.parse(inspect.getsource(reasons)).body
    assert isinstance(definition, ast.ClassDef)
    for member, below in zip(definition.body, definition.body[1:], strict=False):
        match member, below:
            case ast.Assign(targets=[ast.Name(id=name)]), ast.Expr(value=ast.Constant(value=str(text))):
                yield name, " ".join(text.split())


DOCUMENT = GeneratedDocument(
    "docs/nic-metrics.md",
    "scripts/gen_nic_metrics.py",
    {f"{reasons.__module__}.{reasons.__name__}": partial(table, reasons) for reasons in ENUMS},
)

if __name__ == "__main__":
    DOCUMENT.main(__doc__)
