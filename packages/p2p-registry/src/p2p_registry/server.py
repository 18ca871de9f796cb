"""The gRPC side of the registry: the service on a grpc.aio server, its stub, and the reaper's clockwork."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import grpc
import grpc.aio
from google.protobuf.message import DecodeError, Message

from p2p_registry._admission import Admission
from p2p_registry.errors import BackendError
from p2p_registry.interfaces import CallObserver
from p2p_registry.service import RegistryService
from p2p_registry.wire import (
    DESCRIPTOR,
    GetMetadataRequest,
    GetMetadataResponse,
    ListSourcesRequest,
    ListSourcesResponse,
    PublishMetadataRequest,
    PublishMetadataResponse,
    UpdateStatusRequest,
    UpdateStatusResponse,
)

__all__ = ["CHANNEL_OPTIONS", "SERVICE_NAME", "RegistryStub", "add_registry_service", "reap_forever"]

_Request = TypeVar("_Request", bound=Message)
_Response = TypeVar("_Response", bound=Message)

_log = logging.getLogger(__name__)

SERVICE_NAME: str = DESCRIPTOR.services_by_name["P2pService"].full_name
"""Name of the service on the wire."""

CHANNEL_OPTIONS = (
    ("grpc.max_receive_message_length", 100 * 2**20),
    ("grpc.max_send_message_length", 100 * 2**20),
    ("grpc.max_reconnect_backoff_ms", 5_000),
)
"""Options for servers and channels.

100 MiB a message, as modelexpress' clients have it; gRPC's own 4 MiB is too little for them. And at most 5 s from one attempt to
connect to the next: gRPC's own two minutes are longer than a source may be silent.
"""


class RegistryStub:
    """The client's side of the service on an asyncio channel.

    Attributes:
        PublishMetadata: Stores a worker's record.
        UpdateStatus: Sends a heartbeat.
        ListSources: Lists workers.
        GetMetadata: Reads a worker's record.
    """

    def __init__(self, channel: grpc.aio.Channel) -> None:
        """Bind the stub to `channel`; nothing is dialled yet."""
        self.PublishMetadata: grpc.aio.UnaryUnaryMultiCallable[PublishMetadataRequest, PublishMetadataResponse] = _call(
            channel, "PublishMetadata", PublishMetadataRequest, PublishMetadataResponse
        )
        self.UpdateStatus: grpc.aio.UnaryUnaryMultiCallable[UpdateStatusRequest, UpdateStatusResponse] = _call(
            channel, "UpdateStatus", UpdateStatusRequest, UpdateStatusResponse
        )
        self.ListSources: grpc.aio.UnaryUnaryMultiCallable[ListSourcesRequest, ListSourcesResponse] = _call(
            channel, "ListSources", ListSourcesRequest, ListSourcesResponse
        )
        self.GetMetadata: grpc.aio.UnaryUnaryMultiCallable[GetMetadataRequest, GetMetadataResponse] = _call(
            channel, "GetMetadata", GetMetadataRequest, GetMetadataResponse
        )


def add_registry_service(
    service: RegistryService,
    server: grpc.aio.Server,
    *,
    admission: Admission | None = None,
    observer: CallObserver | None = None,
) -> None:
    """Register `service` on `server`, before the server starts.

    Args:
        service: What answers.
        server: Where.
        admission: Refuses calls before they are answered; by default nobody does.
        observer: Is told of each call that has ended.
    """
    methods: dict[str, tuple[Callable[[Any], Awaitable[Message]], Callable[[bytes], Message]]] = {
        "PublishMetadata": (service.publish_metadata, PublishMetadataRequest.FromString),
        "UpdateStatus": (service.update_status, UpdateStatusRequest.FromString),
        "ListSources": (service.list_sources, ListSourcesRequest.FromString),
        "GetMetadata": (service.get_metadata, GetMetadataRequest.FromString),
    }
    handlers: dict[str, Any] = {
        # The bytes as they came, so that who isn't admitted has nothing parsed.
        name: grpc.unary_unary_rpc_method_handler(
            _Call(name, method, parse, admission, observer).answer,
            response_serializer=lambda message: message.SerializeToString(),
        )
        for name, (method, parse) in methods.items()
    }
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE_NAME, handlers),))


async def reap_forever(
    service: RegistryService,
    *,
    interval_seconds: float = 30,
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
) -> None:
    """Reap at once and then every `interval_seconds`, until cancelled; every replica may run one.

    A failure of the store is logged and tried again after the interval.

    Args:
        service: The service whose store is cleaned.
        interval_seconds: Pause between two passes, above 0.
        sleep: Waits between passes.
    """
    while True:
        try:
            reaped = await service.reap()
        except BackendError as error:
            _log.warning("silent workers can't be reaped: %s", error)
        else:
            if reaped.marked_stale or reaped.removed:
                _log.info("silent workers: %d marked stale, %d removed", reaped.marked_stale, reaped.removed)
        await sleep(interval_seconds)


def _call(
    channel: grpc.aio.Channel, method: str, request: type[_Request], response: type[_Response]
) -> "grpc.aio.UnaryUnaryMultiCallable[_Request, _Response]":
    return channel.unary_unary(
        f"/{SERVICE_NAME}/{method}",
        request_serializer=request.SerializeToString,
        response_deserializer=response.FromString,
    )


class _Call:
    """One method: admitted, parsed, answered, and told."""

    def __init__(
        self,
        name: str,
        method: Callable[[Any], Awaitable[Message]],
        parse: Callable[[bytes], Message],
        admission: Admission | None,
        observer: CallObserver | None,
    ) -> None:
        self._name = name
        self._method = method
        self._parse = parse
        self._admission = admission
        self._observer = observer

    async def answer(self, content: bytes, context: "grpc.aio.ServicerContext[bytes, Message]") -> Message:
        began = time.perf_counter()
        code, request, answer = grpc.StatusCode.UNKNOWN, None, None
        try:
            if self._admission is not None:
                refused = self._admission.refusal(context.peer(), context.invocation_metadata() or ())
                if refused is not None:
                    code = refused.code
                    await context.abort(code, refused.why)
            try:
                request = self._parse(content)
            except DecodeError as error:
                code = grpc.StatusCode.INVALID_ARGUMENT
                await context.abort(code, f"the request can't be read: {error}")
            answer = await self._method(request)
        except asyncio.CancelledError:
            code = grpc.StatusCode.CANCELLED
            raise
        else:
            code = grpc.StatusCode.OK
            return answer
        finally:
            if self._observer is not None:
                self._observer.answered(self._name, code.name, time.perf_counter() - began, request, answer)
