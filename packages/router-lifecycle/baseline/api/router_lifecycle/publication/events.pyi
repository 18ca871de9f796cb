from collections.abc import Callable
from dataclasses import dataclass
from router_lifecycle.publication.generations import EngineGeneration as EngineGeneration
from typing import TypeAlias

GateEventKind: TypeAlias

@dataclass(frozen=True, slots=True)
class GateEvent:
    kind: GateEventKind
    generation: EngineGeneration
    detail: str | None = ...
GateEventListener: TypeAlias = Callable[[GateEvent], None]
