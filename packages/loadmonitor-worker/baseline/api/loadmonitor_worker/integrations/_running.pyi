from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from loadmonitor_worker.config import ReporterConfig as ReporterConfig
from loadmonitor_worker.integrations._fork import detach_sockets as detach_sockets, in_forked_children as in_forked_children
from loadmonitor_worker.interfaces import LoadSnapshotSource as LoadSnapshotSource
from loadmonitor_worker.reporter import LoadReporter as LoadReporter, start_load_reporter as start_load_reporter
from typing import TypeAlias

MakeSource: TypeAlias = Callable[[], LoadSnapshotSource]

@asynccontextmanager
async def running_reporter(config: ReporterConfig, make_source: MakeSource) -> AsyncIterator[LoadReporter | None]: ...
async def close_source(source: object) -> None: ...
