"""What an API server does to a custom resource by its schema: drops unknown fields, fills in defaults, refuses what doesn't fit.

After the documentation of structural schemas: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/.
"""

import re
from collections.abc import Iterator
from typing import Any

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}
_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")


def prune(value: Any, schema: dict[str, Any]) -> Any:
    """Return the value without the fields that the schema doesn't name."""
    if isinstance(value, list):
        return [prune(each, schema.get("items", {})) for each in value]
    if not isinstance(value, dict):
        return value
    known, others = schema.get("properties", {}), schema.get("additionalProperties")
    return {
        key: prune(each, known.get(key, others)) for key, each in value.items() if key in known or others is not None
    }


def fill_in(value: Any, schema: dict[str, Any]) -> None:
    """Set what the schema has a default for; a null that may not be one counts as absent."""
    if isinstance(value, list):
        for each in value:
            fill_in(each, schema.get("items", {}))
    elif isinstance(value, dict):
        for key, inner in schema.get("properties", {}).items():
            if "default" in inner and (key not in value or (value[key] is None and not inner.get("nullable"))):
                value[key] = inner["default"]
        for key, each in value.items():
            fill_in(each, schema.get("properties", {}).get(key, schema.get("additionalProperties") or {}))


def faults(value: Any, schema: dict[str, Any], path: str = "") -> Iterator[str]:  # noqa: C901 - one rule after another
    """Yield what doesn't fit, as an API server words it."""
    if value is None:
        if not schema.get("nullable"):
            yield f'{path}: Invalid value: "null": must be of type {schema.get("type")}'
        return
    kind = schema.get("type")
    if kind is not None and (not isinstance(value, _TYPES[kind]) or (isinstance(value, bool) and kind != "boolean")):
        yield f"{path}: Invalid value: {value!r}: must be of type {kind}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{path}: Unsupported value: {value!r}: supported values: {schema['enum']}"
    if "minimum" in schema and value < schema["minimum"]:
        yield f"{path}: Invalid value: {value!r}: should be greater than or equal to {schema['minimum']}"
    if schema.get("format") == "date-time" and not _TIME.fullmatch(value):
        yield f"{path}: Invalid value: {value!r}: must be of type date-time"
    if isinstance(value, list):
        for number, each in enumerate(value):
            yield from faults(each, schema.get("items", {}), f"{path}[{number}]")
    if isinstance(value, dict):
        for key in schema.get("required", ()):
            if key not in value:
                yield f"{path}.{key}: Required value"
        for key, each in value.items():
            inner = schema.get("properties", {}).get(key, schema.get("additionalProperties") or {})
            yield from faults(each, inner, f"{path}.{key}")


def as_stored(value: Any) -> Any:
    """Return the value as Go writes and reads numbers: a whole one is an integer, so minus zero is zero."""
    if isinstance(value, dict):
        return {key: as_stored(each) for key, each in value.items()}
    if isinstance(value, list):
        return [as_stored(each) for each in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value
