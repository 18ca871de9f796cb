"""A reporter with its source, from the making of the one to the closing of the other: what every serving mode shares."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import TypeAlias

from loadmonitor_worker.config import ReporterConfig
from loadmonitor_worker.integrations._fork import detach_sockets, in_forked_children
from loadmonitor_worker.interfaces import LoadSnapshotSource
from loadmonitor_worker.reporter import LoadReporter, start_load_reporter

MakeSource: TypeAlias = Callable[[], LoadSnapshotSource]


@asynccontextmanager
async def running_reporter(config: ReporterConfig, make_source: MakeSource) -> AsyncIterator[LoadReporter | None]:
    """Run a reporter of a new source while the block runs; close first the reporter, then the source, whatever happens.

    Yields None, and makes no source, when reporting is off.
    """
    if config.port is None:
        yield None
        return
    source = make_source()
    try:
        reporter = await start_load_reporter(config, source)
        assert reporter is not None
        port = int(reporter.address.rpartition(":")[2])
        try:
            with in_forked_children(partial(detach_sockets, port)):
                yield reporter
        finally:
            await reporter.close()
    finally:
        await close_source(source)


async def close_source(source: object) -> None:
    """Close a source that has `aclose` or `close`."""
    close = getattr(source, "aclose", None) or getattr(source, "close", None)
    if close is not None:
        closing: object = close()
        if isinstance(closing, Awaitable):
            await closing
