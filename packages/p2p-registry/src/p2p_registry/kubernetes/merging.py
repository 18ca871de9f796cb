"""JSON merge patches (RFC 7386): what changes one document into another, and what a server didn't keep of one."""

from collections.abc import Iterator, Mapping
from typing import Any


def difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Return the patch that makes `before` into `after`, which holds no None: in a patch that deletes a key."""
    patch: dict[str, Any] = {key: None for key in before if key not in after}
    for key, value in after.items():
        old = before.get(key)
        if isinstance(value, Mapping) and isinstance(old, Mapping):
            if inner := difference(old, value):
                patch[key] = inner
        elif value != old:
            patch[key] = value
    return patch


def dropped(patch: Mapping[str, Any], result: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """Yield the path of every field that `patch` set and `result` lacks, of a lost object only its own."""
    for key, value in patch.items():
        where = f"{path}.{key}" if path else key
        if value is None:
            continue
        if key not in result:
            yield where
        elif isinstance(value, Mapping) and isinstance(result[key], Mapping):
            yield from dropped(value, result[key], where)
