"""What a fuzzed process must not do: log an error, leave an exception to the event loop, keep a task or a descriptor."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

WAIT_SECONDS = 30
_LOOK_SECONDS = 0.001
_LOUD = {"asyncio": logging.WARNING, "grpc": logging.WARNING}  # others: ERROR
# gRPC's poller, shared by all loops of a process, tells a loop now and then that another one was quicker.
_HARMLESS = "PollerCompletionQueue"


class Noise(logging.Handler):
    """Collects, while entered, what nobody handled: records of loggers and complaints of the running event loop.

    Attributes:
        heard: What there was, as text.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, *, expected: Callable[[logging.LogRecord], bool] = lambda _: False
    ) -> None:
        """Listen to `loop`, and to all records but those that are `expected`."""
        super().__init__()
        self._loop = loop
        self._expected = expected
        self.heard: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Take a record."""
        loud = record.levelno >= _LOUD.get(record.name.partition(".")[0], logging.ERROR)
        if loud and not self._expected(record) and _HARMLESS not in record.getMessage():
            self.heard.append(self.format(record))

    def _complain(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if _HARMLESS not in repr(context):
            self.heard.append(repr(context))

    def __enter__(self) -> Self:
        logging.getLogger().addHandler(self)
        self._loop.set_exception_handler(self._complain)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.set_exception_handler(None)
        logging.getLogger().removeHandler(self)


async def eventually(condition: Callable[[], bool], what: Callable[[], object]) -> None:
    """Wait until something that announces itself to nobody is so."""
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            while not condition():  # noqa: ASYNC110
                await asyncio.sleep(_LOOK_SECONDS)
    except TimeoutError:
        raise AssertionError(f"still after {WAIT_SECONDS} s: {what()}") from None


def tasks() -> set[str]:
    """Name the tasks there are, but for what gRPC's server keeps, which is written in Cython."""
    return {
        f"{task.get_name()}: {task.get_coro()}"
        for task in asyncio.all_tasks()
        if task is not asyncio.current_task() and not type(task.get_coro()).__module__.startswith("_cython")
    }


def descriptors() -> int:
    """Count the open files and sockets of this process."""
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


async def bounded(awaitable: Awaitable[Any], what: str) -> Any:
    """Wait, and say what for when it takes too long."""
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            return await awaitable
    except TimeoutError:
        raise AssertionError(f"after {WAIT_SECONDS} s still waiting for {what}") from None
