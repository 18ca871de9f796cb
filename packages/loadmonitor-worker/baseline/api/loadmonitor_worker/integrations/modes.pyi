from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

class SourceKind(StrEnum):
    LOOP = "on the engine's event loop"
    FUNCTION = 'by a plain function, in a thread'
    SHARED_MEMORY = 'from shared memory'
    HTTP = "from the engine's HTTP server"

SOURCES: Mapping[SourceKind, tuple[str, ...]]

@dataclass(frozen=True, slots=True, kw_only=True)
class ServingMode:
    name: str
    owner: str
    through: str
    sources: Mapping[SourceKind, str]
    closed_by: str
    example: str | None

SERVING_MODES: tuple[ServingMode, ...]
