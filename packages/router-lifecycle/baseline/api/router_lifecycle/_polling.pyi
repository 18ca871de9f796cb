from collections.abc import Awaitable, Callable as Callable
from dataclasses import dataclass
from random import Random
from tenacity import RetryCallState as RetryCallState
from typing import Generic, TypeVar

T = TypeVar('T')

@dataclass(frozen=True, slots=True)
class Deadline:
    began_seconds: float
    at_seconds: float
    @property
    def last_look_seconds(self) -> float: ...

@dataclass(frozen=True, slots=True)
class Looked(Generic[T]):
    value: T | None
    retry_after_seconds: float | None = ...

class Poller:
    def __init__(self, clock: Callable[[], float], sleep: Callable[[float], Awaitable[None]], random: Random) -> None: ...
    async def until(self, look: Callable[[], Awaitable[Looked[T]]], deadline: Deadline, *, wait_seconds: Callable[[float], float] | None = None) -> T | None: ...
