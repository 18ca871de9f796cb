from _typeshed import Incomplete
from dataclasses import dataclass

@dataclass(frozen=True, slots=True)
class Steadiness:
    looks: int
    seconds: float

AT_ONCE: Incomplete
CONFIRMED: Incomplete
SETTLED: Incomplete
PATIENT: Incomplete

@dataclass(slots=True)
class Stillness:
    def holds(self, target: object, needed: Steadiness, now_seconds: float) -> bool: ...
    def reset(self) -> None: ...
