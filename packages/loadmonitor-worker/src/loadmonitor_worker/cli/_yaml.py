"""Writes plain data as YAML, in the few forms that Kubernetes objects need."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

Node: TypeAlias = "Mapping[str, Node] | Sequence[Node] | str | int"

_PLAIN = re.compile(r"[A-Za-z/][A-Za-z0-9_./-]*")
_WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "y", "n", "null"})
"""What would not be read as text."""


def to_yaml(documents: Iterable[Mapping[str, Node]]) -> str:
    """Return the documents, one after another; texts of several lines as blocks."""
    return "---\n".join("".join(f"{line}\n" for line in _lines(document)) for document in documents)


def _lines(node: Node) -> list[str]:
    if isinstance(node, Mapping):
        return [line for key, value in node.items() for line in _entry(f"{_scalar(key)}:", value)]
    assert not isinstance(node, str | int)
    lines = []
    for item in node:
        first, *rest = _lines(item) if _is_nested(item) else [_scalar(item)]
        lines += [f"- {first}", *(f"  {line}" for line in rest)]
    return lines


def _entry(start: str, value: Node) -> list[str]:
    if isinstance(value, str) and value.endswith("\n"):
        return [f"{start} |", *(f"  {line}" for line in value.splitlines())]
    if _is_nested(value):
        return [start, *(f"  {line}" for line in _lines(value))]
    return [f"{start} {_scalar(value)}"]


def _is_nested(value: Node) -> bool:
    return not isinstance(value, str | int) and bool(value)


def _scalar(value: Node) -> str:
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    return json.dumps(value)  # a quoted text, true, a number, [] or {}: as in JSON
