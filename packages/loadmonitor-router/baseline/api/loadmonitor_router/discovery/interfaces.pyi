from collections.abc import AsyncGenerator
from dataclasses import dataclass
from enum import StrEnum
from loadmonitor_router.discovery.slices import EndpointSlice as EndpointSlice
from loadmonitor_router.snapshot import WorkerTarget as WorkerTarget
from typing import Protocol, Self

class Discovery(Protocol):
    @property
    def last_error(self) -> str | None: ...
    def __aiter__(self) -> Self: ...
    async def __anext__(self) -> tuple[WorkerTarget, ...]: ...
    async def aclose(self) -> None: ...

class SliceEventType(StrEnum):
    ADDED = 'ADDED'
    MODIFIED = 'MODIFIED'
    DELETED = 'DELETED'
    BOOKMARK = 'BOOKMARK'

@dataclass(frozen=True, slots=True)
class SliceEvent:
    type: SliceEventType
    slice: EndpointSlice

class EndpointSliceApi(Protocol):
    async def list(self) -> tuple[str, tuple[EndpointSlice, ...]]: ...
    def watch(self, resource_version: str) -> AsyncGenerator[SliceEvent]: ...
    async def aclose(self) -> None: ...
