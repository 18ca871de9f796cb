"""Runs a command until it is told to stop."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

EXIT_CODES: Final = {signal.SIGTERM: 0, signal.SIGINT: 130}


@asynccontextmanager
async def stop_signals() -> AsyncIterator["asyncio.Queue[int]"]:
    """Yield a queue that gets the exit code that belongs to a signal: 0 for SIGTERM, 130 for SIGINT."""
    loop = asyncio.get_running_loop()
    stopped: asyncio.Queue[int] = asyncio.Queue()
    for number, code in EXIT_CODES.items():
        loop.add_signal_handler(number, partial(stopped.put_nowait, code))
    try:
        yield stopped
    finally:
        for number in EXIT_CODES:
            loop.remove_signal_handler(number)
