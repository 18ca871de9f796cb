"""What the tests of this package share."""

import asyncio
import gc
from collections.abc import AsyncIterator
from typing import Any

import pytest

from loadmonitor_router.testing import ManualClock


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def leaves_nothing() -> AsyncIterator[None]:
    """The test leaves no task, no unclosed stream and no complaint of the event loop behind."""
    loop = asyncio.get_running_loop()
    complaints: list[dict[str, Any]] = []
    loop.set_exception_handler(lambda _, context: complaints.append(context))
    before = asyncio.all_tasks()
    yield
    gc.collect()
    await asyncio.sleep(0)
    left = asyncio.all_tasks() - before - {asyncio.current_task()}
    # gRPC's server keeps coroutines of its own, written in Cython, beyond its stop.
    assert not [task for task in left if not type(task.get_coro()).__module__.startswith("_cython")]
    # gRPC's poller, shared by all loops of a process, tells a loop now and then that another one was quicker.
    assert not [context for context in complaints if "PollerCompletionQueue" not in repr(context)]
