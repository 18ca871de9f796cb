"""List the tests of each clause of docs/contract.md; fail when a clause has none or a test names an unknown one.

A test names the clauses that it proves by `@pytest.mark.clause("OPEN-1", "OPEN-2")` on the test function.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CLAUSE = re.compile(r"^- \*\*([A-Z]+-\d+)\*\*", re.MULTILINE)


def marks(tree: ast.AST) -> Iterator[ast.Call]:
    """Yield every `pytest.mark.clause(...)` in a piece of code."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.clause":
            yield node


def clauses_by_test(file: Path) -> Iterator[tuple[str, str]]:
    """Yield a clause id and the test that names it, for each of a file.

    Raises:
        ValueError: A mark stands elsewhere than on a test function, or its ids are not written out.
    """
    name = file.relative_to(ROOT)
    tree = ast.parse(file.read_text())
    on_tests = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            for decorator in node.decorator_list:
                for mark in marks(decorator):
                    on_tests.add(mark)
                    for argument in mark.args:
                        yield ast.literal_eval(argument), f"{name}::{node.name}"
    for mark in marks(tree):
        if mark not in on_tests or not mark.args:
            raise ValueError(f"{name}:{mark.lineno}: clause() belongs on a test function and names clause ids")


def main() -> int:
    """Print clause by clause, then what is wrong; return 1 when something is."""
    ids = CLAUSE.findall((ROOT / "docs" / "contract.md").read_text())
    tests: dict[str, list[str]] = {clause: [] for clause in ids}
    wrong = [f"{clause} stands twice in docs/contract.md" for clause in tests if ids.count(clause) > 1]
    for file in sorted([*ROOT.glob("packages/*/tests/**/*.py"), *ROOT.glob("tests/**/*.py")]):
        try:
            for clause, test in clauses_by_test(file):
                if clause in tests:
                    tests[clause].append(test)
                else:
                    wrong.append(f"{test} names {clause}, which docs/contract.md doesn't have")
        except ValueError as error:
            wrong.append(str(error))
    wrong += [f"{clause} has no test" for clause, names in tests.items() if not names]
    for clause, names in tests.items():
        print(clause, *names, sep="\n    ")
    print(f"{len(tests)} clauses, {len({name for names in tests.values() for name in names})} tests", *wrong, sep="\n")
    return int(bool(wrong) or not tests)


if __name__ == "__main__":
    sys.exit(main())
