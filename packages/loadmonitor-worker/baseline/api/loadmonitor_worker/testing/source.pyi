import asyncio
from collections.abc import Sequence
from loadmonitor_worker.snapshot import RankSnapshot as RankSnapshot
from loadmonitor_worker.testing.clock import ManualClock as ManualClock

def rank(dp_rank: int = 0, *, at: int | None = None, waiting: int = 0, running: int = 1) -> RankSnapshot: ...

class FakeSource:
    ranks: Sequence[RankSnapshot]
    expected: frozenset[int]
    error: BaseException | None
    pulls: int
    gate: asyncio.Event
    stamp_ms: int | None
    def __init__(self, clock: ManualClock, dp_size: int = 1) -> None: ...
    def expected_dp_ranks(self) -> frozenset[int]: ...
    async def get_loads(self) -> Sequence[RankSnapshot]: ...
