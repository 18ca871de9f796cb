"""What the commands have in common: choosing a source, and running until told to stop."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

from loadmonitor_worker.errors import ConfigError
from loadmonitor_worker.interfaces import LoadSnapshotSource
from loadmonitor_worker.sources import SglangShmSource, SyntheticSource

SourceName = Literal["sglang-shm", "synthetic"]


def make_source(name: SourceName, *, shm_path: Path | None, dp_size: int | None) -> LoadSnapshotSource:
    """Return the source that the flags describe.

    Raises:
        ConfigError: A flag is missing, out of range, or belongs to another source.
    """
    if name == "sglang-shm":
        return SglangShmSource(shm_path, dp_size=dp_size)
    if shm_path is not None:
        raise ConfigError("--shm-path belongs to --source sglang-shm: leave it out, or change the source")
    return SyntheticSource(1 if dp_size is None else dp_size)


@asynccontextmanager
async def stop_signals() -> AsyncIterator["asyncio.Future[int]"]:
    """Yield a future that SIGTERM and SIGINT complete with the exit code that belongs to them, 0 and 130."""
    loop = asyncio.get_running_loop()
    stopped: asyncio.Future[int] = loop.create_future()

    def stop(code: int) -> None:
        if not stopped.done():
            stopped.set_result(code)

    codes = {signal.SIGTERM: 0, signal.SIGINT: 130}
    for number, code in codes.items():
        loop.add_signal_handler(number, stop, code)
    try:
        yield stopped
    finally:
        for number in codes:
            loop.remove_signal_handler(number)
