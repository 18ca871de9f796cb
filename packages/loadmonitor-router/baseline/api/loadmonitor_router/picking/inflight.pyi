from collections import OrderedDict
from collections.abc import Callable as Callable, Hashable
from dataclasses import dataclass, field
from loadmonitor_router.errors import ConfigError as ConfigError

DEFAULT_DISPATCH_MS: float
DEFAULT_FORGET_AFTER_SECONDS: float

@dataclass(frozen=True, slots=True, eq=False)
class Ticket:
    where: Hashable
    started_ns: int

@dataclass(slots=True)
class _Book:
    recent: OrderedDict[Ticket, None] = field(default_factory=OrderedDict)
    unfinished: set[Ticket] = field(default_factory=set)

class InFlight:
    tracks_completion: bool
    def __init__(self, *, tracks_completion: bool = False, dispatch_ms: float = ..., forget_after_seconds: float = ..., monotonic_ns: Callable[[], int] = ...) -> None: ...
    def started(self, where: Hashable) -> Ticket: ...
    def finished(self, ticket: Ticket) -> None: ...
    def forget(self, where: Hashable) -> None: ...
    def newer_than(self, where: Hashable, sampled_ns: int | None) -> int: ...
    def unfinished(self, where: Hashable) -> int: ...
