"""Fixtures: reporters that are closed after the test and leave nothing behind."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest
from worker_bench import Bench, StartBench

from loadmonitor_worker import ReporterConfig, start_load_reporter
from loadmonitor_worker.testing import FakeSource, ManualClock


@pytest.fixture
async def start() -> AsyncIterator[StartBench]:
    """Start a reporter with settings; it is closed after the test, and must then have left no task behind."""
    before = asyncio.all_tasks()
    async with AsyncExitStack() as stack:

        async def start_bench(
            dp_size: int = 1, *, source_type: type[FakeSource] = FakeSource, **settings: object
        ) -> Bench:
            clock = ManualClock()
            source = source_type(clock, dp_size)
            config = ReporterConfig(**{"port": 0, "worker_addr": "http://127.0.0.1:30000"} | settings)  # type: ignore[arg-type]
            reporter = await start_load_reporter(config, source, clock=clock)
            assert reporter is not None
            await stack.enter_async_context(reporter)
            return Bench(clock, source, reporter, stack)

        yield start_bench
    left = {task.get_name() for task in asyncio.all_tasks() - before if task.get_name().startswith("loadmonitor")}
    assert not left


@pytest.fixture
async def bench(start: StartBench) -> Bench:
    """A reporter of one rank with default settings."""
    return await start()
