from collections.abc import Callable
from loadmonitor_worker._abandon import abandonable as abandonable
from loadmonitor_worker._describe import text_of as text_of
from loadmonitor_worker._validate import validate_ranks as validate_ranks
from loadmonitor_worker._verdict import Attempt as Attempt
from loadmonitor_worker.errors import SourceError as SourceError
from loadmonitor_worker.interfaces import Clock as Clock, LoadSnapshotSource as LoadSnapshotSource, TimerHandle as TimerHandle

Deliver = Callable[[Attempt], None]

class Puller:
    started_ns: int
    def __init__(self, source: LoadSnapshotSource, expected_dp_ranks: Callable[[], frozenset[int]], clock: Clock, *, budget_ms: int, clamp: bool) -> None: ...
    @property
    def pulling(self) -> bool: ...
    def pull(self, deliver: Deliver) -> None: ...
    def abort(self) -> None: ...
    async def ended(self, grace_seconds: float) -> None: ...
