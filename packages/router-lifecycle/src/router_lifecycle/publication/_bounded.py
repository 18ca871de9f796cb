"""A bound that holds even where the work ignores its cancellation."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
Sleep = Callable[[float], Awaitable[None]]


async def within(seconds: float, work: Coroutine[Any, Any, T], sleep: Sleep) -> T:
    """Return what the work returns, or leave it alone once the time is over.

    Raises:
        TimeoutError: It wasn't done in time; it has been cancelled, and nobody waits for it.
    """
    task = asyncio.ensure_future(work)
    timer = asyncio.ensure_future(sleep(seconds))
    try:
        await asyncio.wait({task, timer}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise TimeoutError(f"not done within {seconds:g} s")
    finally:
        timer.cancel()
        if not task.done():
            task.cancel()
            task.add_done_callback(lambda late: late.cancelled() or late.exception())
