from collections.abc import Iterable, Mapping, Sequence as Sequence
from typing import TypeAlias

Node: TypeAlias

def to_yaml(documents: Iterable[Mapping[str, Node]]) -> str: ...
