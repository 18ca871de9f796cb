from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from router_lifecycle._steadiness import AT_ONCE as AT_ONCE, Steadiness as Steadiness, Stillness as Stillness
from typing import Generic, TypeVar

State = TypeVar('State', bound=StrEnum)
Sign = TypeVar('Sign', bound=StrEnum)

@dataclass(frozen=True, slots=True)
class Step(Generic[State]):
    to: State
    after: Steadiness = ...

class Machine(Generic[State, Sign]):
    state: State
    sign: Sign | None
    def __init__(self, table: Mapping[tuple[State, Sign], Step[State]], state: State, *, blind: Sign) -> None: ...
    def see(self, sign: Sign, now_seconds: float) -> State: ...
    def put(self, state: State) -> None: ...
