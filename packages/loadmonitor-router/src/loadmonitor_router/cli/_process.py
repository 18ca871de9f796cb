"""What a command does as a process: a router id of its own, an answer to signals, and silence where its output says it."""

import asyncio
import logging
import os
import secrets
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_STOPPED = {signal.SIGTERM: 0, signal.SIGINT: 130}


def own_router_id(command: str) -> str:
    """Return an id that nobody else uses: to share one with a router, or another command, would take its stream away."""
    return f"loadmonitor-{command}-{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"


@contextmanager
def stop_signals(stop: Callable[[int], None]) -> Iterator[None]:
    """Call `stop` with the exit code when the process is told to end; needs a running loop."""
    loop = asyncio.get_running_loop()
    for number, code in _STOPPED.items():
        loop.add_signal_handler(number, stop, code)
    try:
        yield
    finally:
        for number in _STOPPED:
            loop.remove_signal_handler(number)


@contextmanager
def stopping() -> Iterator[asyncio.Future[int]]:
    """Give a future that gets the exit code when the process is told to end."""
    stopped: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def stop(code: int) -> None:
        if not stopped.done():
            stopped.set_result(code)

    with stop_signals(stop):
        yield stopped


@contextmanager
def quiet_library() -> Iterator[None]:
    """Keep the package's log off stderr: the reasons say the same."""
    logger = logging.getLogger("loadmonitor_router")
    handler = logging.NullHandler()
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
