import grpc.aio
from _typeshed import Incomplete
from collections.abc import Awaitable, Callable
from google.protobuf.message import Message
from p2p_registry._admission import Admission
from p2p_registry.interfaces import CallObserver
from p2p_registry.service import RegistryService
from p2p_registry.wire import GetMetadataRequest, GetMetadataResponse, ListSourcesRequest, ListSourcesResponse, PublishMetadataRequest, PublishMetadataResponse, UpdateStatusRequest, UpdateStatusResponse
from typing import Any

__all__ = ['SERVICE_NAME', 'CHANNEL_OPTIONS', 'RegistryStub', 'add_registry_service', 'reap_forever']

SERVICE_NAME: str
CHANNEL_OPTIONS: Incomplete

class RegistryStub:
    PublishMetadata: grpc.aio.UnaryUnaryMultiCallable[PublishMetadataRequest, PublishMetadataResponse]
    UpdateStatus: grpc.aio.UnaryUnaryMultiCallable[UpdateStatusRequest, UpdateStatusResponse]
    ListSources: grpc.aio.UnaryUnaryMultiCallable[ListSourcesRequest, ListSourcesResponse]
    GetMetadata: grpc.aio.UnaryUnaryMultiCallable[GetMetadataRequest, GetMetadataResponse]
    def __init__(self, channel: grpc.aio.Channel) -> None: ...

def add_registry_service(service: RegistryService, server: grpc.aio.Server, *, admission: Admission | None = None, observer: CallObserver | None = None) -> None: ...
async def reap_forever(service: RegistryService, *, interval_seconds: float = 30, sleep: Callable[[float], Awaitable[object]] = ...) -> None: ...

class _Call:
    def __init__(self, name: str, method: Callable[[Any], Awaitable[Message]], parse: Callable[[bytes], Message], admission: Admission | None, observer: CallObserver | None) -> None: ...
    async def answer(self, content: bytes, context: grpc.aio.ServicerContext[bytes, Message]) -> Message: ...
