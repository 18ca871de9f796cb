import asyncio
from collections.abc import AsyncIterator, Callable as Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from loadmonitor_worker._listen import check_bindable as check_bindable, format_address as format_address
from loadmonitor_worker.errors import ConfigError as ConfigError
from loadmonitor_worker.metrics import make_registry as make_registry
from loadmonitor_worker.reporter import LoadReporter as LoadReporter
from loadmonitor_worker.state import WorkerState as WorkerState
from typing import Final

LIVEZ: Final[str]
READYZ: Final[str]
METRICS: Final[str]
DRAIN: Final[str]
SIDE_PORT: Final[int]
DRAIN_SECONDS: Final[float]

@dataclass(frozen=True, slots=True, kw_only=True)
class SidePortConfig:
    port: int
    host: str
    remote_drain: bool
    def __post_init__(self) -> None: ...

@asynccontextmanager
async def side_port(reporter: LoadReporter, config: SidePortConfig | None) -> AsyncIterator[str | None]: ...

@dataclass(frozen=True, slots=True)
class _Answer:
    status: HTTPStatus
    body: bytes
    content_type: str = ...

class _Answers:
    def __init__(self, reporter: LoadReporter, *, remote_drain: bool) -> None: ...
    async def ended(self) -> None: ...
    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None: ...
