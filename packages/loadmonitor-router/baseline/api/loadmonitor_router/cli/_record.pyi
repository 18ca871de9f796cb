from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from loadmonitor_router.age import Freshness as Freshness
from loadmonitor_router.cli._output import Output as Output
from loadmonitor_router.cli._view import WorkerView as WorkerView
from loadmonitor_router.connection import ConnectionState as ConnectionState

@dataclass(slots=True)
class Seen:
    reports: Counter[str] = field(default_factory=Counter)
    instances: list[str] = field(default_factory=list)
    running: set[int] = field(default_factory=set)
    verdicts: list[Freshness] = field(default_factory=list)
    losses: int = ...

class Record:
    seen: dict[str, Seen]
    def __init__(self, inner: Output) -> None: ...
    def show(self, shown: WorkerView) -> None: ...
    def draw(self, views: Sequence[WorkerView], trouble: str | None, /) -> None: ...
    def close(self) -> None: ...
