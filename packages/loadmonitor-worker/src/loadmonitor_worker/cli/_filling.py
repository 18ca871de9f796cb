"""Who fills SGLang's snapshot file: its schedulers, or whoever asks its HTTP server.

With multi-node data-parallel attention, or SGLANG_LOAD_SNAPSHOT_USE_ZMQ=1, SGLang's schedulers send their load over ZeroMQ,
and the file is filled when the process that receives it looks, which with round-robin balancing is on `/v1/loads` only.
"""

import asyncio
from collections.abc import Sequence
from typing import Final

from loadmonitor_worker.snapshot import RankSnapshot
from loadmonitor_worker.sources import SglangHttpSource, SglangShmSource

STANDSTILL_SECONDS: Final = 2.0
"""A file that stands still as long isn't filled by a running scheduler: an idle one publishes about once a second or faster."""
_LOOK_SECONDS: Final = 0.05


async def who_fills(
    file: SglangShmSource, engine: SglangHttpSource, *, standstill_seconds: float = STANDSTILL_SECONDS
) -> tuple[bool, str]:
    """Tell whether the file is filled without anybody asking the engine, and how that was seen.

    Raises:
        SourceError: The file can't be read, or the engine doesn't answer.
    """
    before = await file.get_loads()
    for _ in range(round(standstill_seconds / _LOOK_SECONDS)):
        await asyncio.sleep(_LOOK_SECONDS)
        if _times(await file.get_loads()) != _times(before):
            return True, "the engine fills its file without being asked"
    told = await engine.get_loads()
    after = await file.get_loads()
    stood = f"the file stood still for {standstill_seconds:g} s"
    if _times(after) != _times(before):
        return False, (
            f"{stood} and moved when {engine.url} was asked: this engine fills its file only when it is asked (ZMQ mode): "
            "use --source sglang-http"
        )
    if not engine.stamped_by_receipt and _newest(told) > _newest(after):
        return False, f"{stood} while {engine.url} tells newer load: the file is another engine's: name this one's"
    return False, (
        f"{stood}, and {engine.url} tells nothing newer: the engine's scheduler hangs or is paused, or, in ZMQ mode with "
        "load-aware balancing, no request came in"
    )


def _times(loads: Sequence[RankSnapshot]) -> list[int | None]:
    return [load.snapshot_time_unix_ms for load in loads]


def _newest(loads: Sequence[RankSnapshot]) -> int:
    return max((load.snapshot_time_unix_ms or 0 for load in loads), default=0)
