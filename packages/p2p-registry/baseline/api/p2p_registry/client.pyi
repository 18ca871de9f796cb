import grpc.aio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from p2p_registry.identity import SourceIdentity
from p2p_registry.wire import WorkerMetadata
from typing import Protocol

__all__ = ['SourceRef', 'ListedSource', 'Listing', 'RegistryClient']

class SourceRef(Protocol):
    @property
    def mx_source_id(self) -> str: ...
    @property
    def worker_id(self) -> str: ...
    @property
    def worker_rank(self) -> int: ...

@dataclass(frozen=True, slots=True, kw_only=True)
class ListedSource:
    mx_source_id: str
    worker_id: str
    worker_rank: int
    source_load: float | None
    topology: Mapping[str, str] = field(hash=False)
    updated_at_ms: int
    accelerator: str
    model_name: str
    training_step: int | None
    layout_signature: str | None

@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    sources: tuple[ListedSource, ...]
    hidden: int | None
    silent: int | None

class RegistryClient:
    def __init__(self, channel: grpc.aio.Channel, *, timeout_seconds: float = 30, now_ms: Callable[[], int] = ...) -> None: ...
    async def list_sources(self, identity: SourceIdentity) -> Listing: ...
    async def metadata(self, source: SourceRef) -> WorkerMetadata: ...
