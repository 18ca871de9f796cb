import grpc.aio
from dataclasses import dataclass
from p2p_registry._health import HEALTH as HEALTH, HealthCheckRequest as HealthCheckRequest, HealthCheckResponse as HealthCheckResponse, ServingStatus as ServingStatus
from p2p_registry.cli._connecting import RegistryFlags as RegistryFlags
from p2p_registry.errors import RegistryUnreachableError as RegistryUnreachableError
from p2p_registry.listing import CLOCKS_AGREE_MS as CLOCKS_AGREE_MS, HEARTBEAT_TIMEOUT_MS as HEARTBEAT_TIMEOUT_MS
from p2p_registry.records import SourceStatus as SourceStatus
from p2p_registry.server import RegistryStub as RegistryStub, SERVICE_NAME as SERVICE_NAME
from p2p_registry.service import system_clock_ms as system_clock_ms
from p2p_registry.wire import ListSourcesRequest as ListSourcesRequest, SourceInstanceRef as SourceInstanceRef

@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    reference: SourceInstanceRef
    status: SourceStatus | None
    load: float | None
    note: str
    @property
    def key(self) -> tuple[str, str, int]: ...

class Look:
    def __init__(self, flags: RegistryFlags, model: str | None, rank: int | None, timeout_seconds: float) -> None: ...
    def open(self) -> grpc.aio.Channel: ...
    async def rows(self, channel: grpc.aio.Channel) -> list[Row]: ...
    async def fault(self, channel: grpc.aio.Channel) -> str | None: ...
