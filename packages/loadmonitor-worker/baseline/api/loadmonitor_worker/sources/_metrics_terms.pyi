from _typeshed import Incomplete
from dataclasses import dataclass
from loadmonitor_worker.errors import ConfigError as ConfigError
from loadmonitor_worker.sources._prom_text import plain_name as plain_name
from typing import Final

REFERABLE: Final[Incomplete]

@dataclass(frozen=True, slots=True)
class Term:
    metric: str
    match: tuple[tuple[str, str], ...] = ...
    label: str | None = ...

@dataclass(frozen=True, slots=True)
class Reading:
    terms: tuple[Term, ...]
    fields: tuple[str, ...] = ...
    factor: float = ...
    @property
    def is_exact(self) -> bool: ...

def parse_reading(text: str, where: str) -> Reading: ...
def plain_names(reading: Reading, prefix: str) -> set[str]: ...
