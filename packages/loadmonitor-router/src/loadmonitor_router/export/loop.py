"""Reading on one thread what belongs to the event loop of another."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

_Value = TypeVar("_Value")
_PATIENCE_SECONDS = 5.0  # below Prometheus' own time-out of 10 s, so that a loop that hangs shows as a failed scrape


def on_loop(read: Callable[[], _Value]) -> Callable[[], _Value]:
    """Return a function for other threads that calls `read` on the running event loop and waits for its value.

    A monitor is read on its own loop, and a `MetricsServer` scrapes on threads beside it.

    Raises:
        RuntimeError: No loop is running. The function returned raises TimeoutError when the loop doesn't answer within 5 s.
    """
    loop = asyncio.get_running_loop()

    async def call() -> _Value:
        return read()

    def ask() -> _Value:
        return asyncio.run_coroutine_threadsafe(call(), loop).result(_PATIENCE_SECONDS)

    return ask
