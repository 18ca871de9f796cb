from loadmonitor_worker.snapshot import RankSnapshot as RankSnapshot
from loadmonitor_worker.sources import SglangHttpSource as SglangHttpSource, SglangShmSource as SglangShmSource
from typing import Final

STANDSTILL_SECONDS: Final[float]

async def who_fills(file: SglangShmSource, engine: SglangHttpSource, *, standstill_seconds: float = ...) -> tuple[bool, str]: ...
