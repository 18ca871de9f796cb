"""Plain data as YAML: mappings and lists in lines, everything else as in JSON, which YAML has, too."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

_BARE = re.compile(r"[A-Za-z/.][-A-Za-z0-9_./]*")
_OTHER_THAN_TEXT = {"true", "false", "yes", "no", "on", "off", "y", "n", "null"}


def yaml_of(documents: Iterable[Mapping[str, Any]]) -> str:
    """Return the documents in one text."""
    return "---\n".join("\n".join(_block(document)) + "\n" for document in documents)


def _block(value: Any) -> Iterator[str]:
    """Yield a value's lines; of a mapping or list that holds something there may be many."""
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            lines = list(_block(inner))
            if isinstance(inner, Mapping | list) and inner:
                yield f"{_atom(key)}:"
                yield from (f"  {line}" for line in lines)
            else:
                yield f"{_atom(key)}: {lines[0]}"
    elif isinstance(value, list) and value:
        for inner in value:
            yield from (f"{'  ' if number else '- '}{line}" for number, line in enumerate(_block(inner)))
    else:
        yield _atom(value)


def _atom(value: Any) -> str:
    if isinstance(value, str) and _BARE.fullmatch(value) and value.lower() not in _OTHER_THAN_TEXT:
        return value
    return json.dumps(value)
