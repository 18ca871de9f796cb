from collections.abc import Iterable, Mapping
from typing import Any

def yaml_of(documents: Iterable[Mapping[str, Any]]) -> str: ...
