import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from loadmonitor_worker.errors import MissingExtraError as MissingExtraError, SourceUnavailableError as SourceUnavailableError
from typing import Any, TypeAlias

class MetricsReason(StrEnum):
    BAD_TEXT = 'bad_text'
    FAMILY_ABSENT = 'family_absent'
    VALUE_UNKNOWN = 'value_unknown'
    AMBIGUOUS = 'ambiguous'
    SLEEPING = 'sleeping'

@dataclass(frozen=True, slots=True)
class Sample:
    labels: Mapping[str, str]
    value: float | None
    unix_ms: int | None
Samples: TypeAlias = Mapping[str, list[Sample]]

def plain_name(name: str) -> str: ...
def prometheus_parsers(feature: str) -> tuple[Any, Any]: ...
def lines_of(names: Collection[str]) -> re.Pattern[str]: ...
def read_samples(body: bytes, content_type: str, wanted: re.Pattern[str], parsers: tuple[Any, Any], *, where: str) -> Samples: ...
