"""What happens at the gate, told while it happens."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from router_lifecycle.publication.generations import EngineGeneration

GateEventKind: TypeAlias = Literal[
    "pending", "admitted", "released", "readmitted", "routable", "quarantined", "discarded", "superseded"
]
"""What happened: a new state, or `superseded`, where news came of a generation that isn't the engine's present one."""


@dataclass(frozen=True, slots=True)
class GateEvent:
    """Something happened to a generation.

    Attributes:
        kind: What.
        generation: To which.
        detail: Why, for people, or None.
    """

    kind: GateEventKind
    generation: EngineGeneration
    detail: str | None = None


GateEventListener: TypeAlias = Callable[[GateEvent], None]
"""Called with each event after the gate has changed; what it raises reaches the caller of the gate."""
