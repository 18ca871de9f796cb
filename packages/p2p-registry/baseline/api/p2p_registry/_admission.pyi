import grpc
from _typeshed import Incomplete
from collections.abc import Callable as Callable, Iterable
from dataclasses import dataclass
from p2p_registry._files import TokenFile as TokenFile
from typing import Final

MOST_ADDRESSES: Final[int]

@dataclass(frozen=True, slots=True)
class Refusal:
    code: grpc.StatusCode
    why: str

class RateLimit:
    per_second: Incomplete
    def __init__(self, per_second: int) -> None: ...
    def admits(self, address: str, now_seconds: float) -> bool: ...

class Admission:
    def __init__(self, tokens: TokenFile | None, limit: RateLimit | None, *, now_seconds: Callable[[], float] = ...) -> None: ...
    def refusal(self, peer: str, metadata: Iterable[tuple[str, str | bytes]]) -> Refusal | None: ...
