"""Write the tables of errors, reasons and states into docs/errors.md; with --check, only compare.

What an error means is the first paragraph of its docstring. What to do is the paragraph that begins with "What to do:", or the
class's `advice`, or what is to be done about its base.
"""

import ast
import importlib
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from enum import Enum

from docstring_parser import parse

from generated_table import ROOT, GeneratedDocument
from workspace import packages

_DO = "What to do: "


def public_classes(distribution: str) -> Iterator[tuple[str, type]]:
    """Yield every class that the package's reference documents, once, with the shortest module that exports it."""
    page = (ROOT / "docs" / "reference" / f"{distribution}.md").read_text()
    seen: set[type] = set()
    for name in sorted(re.findall(r"^\.\. automodule:: (\S+)$", page, re.MULTILINE), key=len):
        module = importlib.import_module(name)
        for exported in getattr(module, "__all__", ()):
            found = getattr(module, exported)
            if isinstance(found, type) and found not in seen:
                seen.add(found)
                yield name, found


def what_to_do(error: type) -> str:
    """Return the advice of the class, or of the nearest base that has one.

    Raises:
        ValueError: Not even the package's base error says what to do.
    """
    for base in error.__mro__:
        if found := re.search(rf"{_DO}(.+?)(\n\n|\Z)", inspect.cleandoc(base.__doc__ or ""), re.DOTALL):
            return _sentence(found[1])
        if advice := vars(base).get("advice"):
            return _sentence(f"{advice}.")
    raise ValueError(
        f"the docstring of {error.__module__}.{error.__qualname__} has no paragraph that begins with {_DO!r}"
    )


def meanings(enum: type[Enum]) -> dict[str, str]:
    """Return what each member means: the text below it, or its entry among the class's attributes. Without one it isn't in there."""
    told = {each.arg_name: each.description or "" for each in parse(enum.__doc__ or "").params}
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(enum))).body
    assert isinstance(tree, ast.ClassDef)
    for line, below in zip(tree.body, tree.body[1:], strict=False):
        match line, below:
            case ast.Assign(targets=[ast.Name(id=name)]), ast.Expr(value=ast.Constant(value=str(text))):
                told[name] = text
    return {name: _sentence(text) for name, text in told.items() if name in enum.__members__}


def tables_of(distribution: str) -> Callable[[], str]:
    """Return what makes the tables of one package: its errors, then each enumeration whose members are explained."""

    def tables() -> str:
        classes = list(public_classes(distribution))
        modules = {found: module for module, found in classes if issubclass(found, Exception)}
        errors = sorted(
            modules, key=lambda error: [base.__name__ for base in reversed(error.__mro__) if base in modules]
        )
        parts = []
        if errors:
            rows = [
                (
                    _role("exc", modules[error], error),
                    _bases(error, modules),
                    _sentence(_summary(error)),
                    what_to_do(error),
                )
                for error in errors
            ]
            parts.append(_table(("error", "is a", "means", "what to do"), rows))
        for module, enum in classes:
            if issubclass(enum, Enum) and len(told := meanings(enum)) == len(enum):
                head = f"**{_role('class', module, enum)}** {_sentence(_summary(enum))}\n\n"
                parts.append(
                    head + _table(("word", "means"), [(f"`{_word(enum[name])}`", told[name]) for name in told])
                )
        return "\n".join(parts)

    return tables


def _word(member: Enum) -> str:
    return member.value if isinstance(member.value, str) else member.name


def _bases(error: type, modules: dict[type, str]) -> str:
    return ", ".join(
        _role("exc", modules[base], base) if base in modules else f"`{base.__name__}`" for base in error.__bases__
    )


def _role(kind: str, module: str, named: type) -> str:
    return f"{{py:{kind}}}`~{module}.{named.__name__}`"


def _summary(named: type) -> str:
    return inspect.cleandoc(named.__doc__ or "").partition("\n\n")[0]


def _sentence(text: str) -> str:
    line = " ".join(text.split()).replace("|", "\\|")
    return line[:1].upper() + line[1:]


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, ("---",) * len(head), *rows))


DOCUMENT = GeneratedDocument(
    "docs/errors.md",
    "scripts/gen_errors.py",
    {package.import_name: tables_of(package.name) for package in packages()},
)

if __name__ == "__main__":
    DOCUMENT.main(__doc__)
