"""`grpc.health.v1` on the reporter's port, for clients that ask gRPC servers how they are.

The messages live in a descriptor pool of their own, because the package that has them ties protobuf to one major version. What
is asked about is the reporter: it is SERVING until it closes, whatever the engine does. The engine's health is in the reports.
"""

import asyncio
from enum import IntEnum
from typing import Any, Final

import grpc
import grpc.aio
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from loadmonitor_proto.service import SERVICE_NAME as MONITOR

HEALTH: Final = "grpc.health.v1.Health"
MAX_WATCHERS: Final = 64
"""Most clients that may watch at once."""


class ServingStatus(IntEnum):
    """HealthCheckResponse.ServingStatus, by its numbers on the wire."""

    UNKNOWN = 0
    SERVING = 1
    NOT_SERVING = 2
    SERVICE_UNKNOWN = 3


def _messages() -> tuple[Any, Any]:
    """Return the classes of HealthCheckRequest and HealthCheckResponse."""
    file = descriptor_pb2.FileDescriptorProto(
        name="grpc/health/v1/health.proto", package="grpc.health.v1", syntax="proto3"
    )
    text, enum = descriptor_pb2.FieldDescriptorProto.TYPE_STRING, descriptor_pb2.FieldDescriptorProto.TYPE_ENUM
    once = descriptor_pb2.FieldDescriptorProto.LABEL_OPTIONAL
    file.message_type.add(name="HealthCheckRequest").field.add(name="service", number=1, type=text, label=once)
    response = file.message_type.add(name="HealthCheckResponse")
    statuses = response.enum_type.add(name="ServingStatus")
    for status in ServingStatus:
        statuses.value.add(name=status.name, number=status.value)
    name = ".grpc.health.v1.HealthCheckResponse.ServingStatus"
    response.field.add(name="status", number=1, type=enum, type_name=name, label=once)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return (
        message_factory.GetMessageClass(pool.FindMessageTypeByName("grpc.health.v1.HealthCheckRequest")),
        message_factory.GetMessageClass(pool.FindMessageTypeByName("grpc.health.v1.HealthCheckResponse")),
    )


_Request, _Response = _messages()


def _service_of(request: bytes) -> str:
    service: str = _Request.FromString(request).service
    return service


def _response_bytes(status: ServingStatus) -> bytes:
    encoded: bytes = _Response(status=status.value).SerializeToString()
    return encoded


class HealthServicer:
    """Answers `Check` and `Watch` for the server as a whole ("") and for the Monitor service."""

    def __init__(self) -> None:
        self._closing = False
        self._watchers: set[asyncio.Future[None]] = set()

    def shut_down(self) -> None:
        """Tell everybody who watches NOT_SERVING, and end their streams."""
        self._closing = True
        for watcher in self._watchers:
            if not watcher.done():
                watcher.set_result(None)

    def _status(self, service: str) -> ServingStatus:
        if service not in {"", MONITOR}:
            return ServingStatus.SERVICE_UNKNOWN
        return ServingStatus.NOT_SERVING if self._closing else ServingStatus.SERVING

    async def check(self, service: str, context: "grpc.aio.ServicerContext[str, ServingStatus]") -> ServingStatus:
        """Answer once; a service that isn't here is NOT_FOUND."""
        status = self._status(service)
        if status is ServingStatus.SERVICE_UNKNOWN:
            await context.abort(
                grpc.StatusCode.NOT_FOUND, f"there is no service {service!r}: ask about {MONITOR!r} or ''"
            )
        return status

    async def watch(self, service: str, context: "grpc.aio.ServicerContext[str, ServingStatus]") -> None:
        """Answer now and when the reporter closes; a service that isn't here is SERVICE_UNKNOWN."""
        if len(self._watchers) >= MAX_WATCHERS:
            await context.abort(
                grpc.StatusCode.RESOURCE_EXHAUSTED, f"{MAX_WATCHERS} clients watch already, as many as may"
            )
        closing: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._watchers.add(closing)
        try:
            status = self._status(service)
            await context.write(status)
            if status is not ServingStatus.NOT_SERVING:
                await closing
                await context.write(self._status(service))
        finally:
            self._watchers.discard(closing)


def add_health_servicer(servicer: HealthServicer, server: grpc.aio.Server) -> None:
    """Register the service on `server`, before the server starts."""
    handlers: dict[str, Any] = {
        "Check": grpc.unary_unary_rpc_method_handler(
            servicer.check, request_deserializer=_service_of, response_serializer=_response_bytes
        ),
        "Watch": grpc.unary_stream_rpc_method_handler(
            servicer.watch, request_deserializer=_service_of, response_serializer=_response_bytes
        ),
    }
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(HEALTH, handlers),))
