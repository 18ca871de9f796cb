"""Whether the registry is alive and whether its store answers, also as `grpc.health.v1` on its port.

The messages live in a descriptor pool of their own, because the package that has them ties protobuf to one major version.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from enum import IntEnum
from typing import Any, Final

import grpc
import grpc.aio
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from p2p_registry.errors import BackendError
from p2p_registry.interfaces import Backend
from p2p_registry.server import SERVICE_NAME

HEALTH: Final = "grpc.health.v1.Health"
MAX_WATCHERS: Final = 64
"""Most clients that may watch at once."""
PING_EVERY_SECONDS: Final = 5.0
PING_SECONDS: Final = 2.0
"""Longest that the store may take to answer before it counts as gone."""

_UNASKED = "the store wasn't asked yet"

_log = logging.getLogger(__name__)


class ServingStatus(IntEnum):
    """HealthCheckResponse.ServingStatus, by its numbers on the wire."""

    UNKNOWN = 0
    SERVING = 1
    NOT_SERVING = 2
    SERVICE_UNKNOWN = 3


def _messages() -> tuple[Any, Any]:
    field = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="health.proto", package="grpc.health.v1", syntax="proto3")
    asked = file.message_type.add(name="HealthCheckRequest")
    asked.field.add(name="service", number=1, type=field.TYPE_STRING, label=field.LABEL_OPTIONAL)
    told = file.message_type.add(name="HealthCheckResponse")
    # An enum and an int32 are the same on the wire.
    told.field.add(name="status", number=1, type=field.TYPE_INT32, label=field.LABEL_OPTIONAL)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    names = ("grpc.health.v1.HealthCheckRequest", "grpc.health.v1.HealthCheckResponse")
    request, response = (message_factory.GetMessageClass(pool.FindMessageTypeByName(name)) for name in names)
    return request, response


HealthCheckRequest, HealthCheckResponse = _messages()


class Health:
    """What probes are told.

    The server as a whole ("") is SERVING until it closes: liveness, which the store has no part in. The service
    `model_express.p2p.P2pService` is SERVING while the store answers, too: readiness.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._fault: str | None = _UNASKED
        self._closing = False
        self._watchers = 0
        self._changed = asyncio.Event()
        self._looking = asyncio.Lock()
        self._doubt: asyncio.Task[None] | None = None

    @property
    def fault(self) -> str | None:
        """Why requests can't be served, or None while they can."""
        return "the registry is closing" if self._closing else self._fault

    def doubt(self) -> None:
        """Ask the store now, because it failed elsewhere; who asks for readiness meanwhile waits for its answer."""
        if self._fault is None and not self._closing and (self._doubt is None or self._doubt.done()):
            self._doubt = asyncio.create_task(self.look(), name="registry-doubt")

    async def look(self) -> None:
        """Ask the store once."""
        async with self._looking:
            await self._look()

    async def _look(self) -> None:
        fault = None
        try:
            async with asyncio.timeout(PING_SECONDS):
                await self._backend.ping()
        except BackendError as error:
            fault = f"the store failed: {error}"
        except TimeoutError:
            fault = f"the store didn't answer within {PING_SECONDS:.0f} s"
        before, self._fault = self._fault, fault
        if before != _UNASKED and (before is None) == (fault is None):
            return
        if fault is None:
            _log.info("ready: the store answers")
        else:
            _log.warning("not ready: %s", fault)
        self._wake()

    async def look_forever(self, *, sleep: Callable[[float], Awaitable[object]] = asyncio.sleep) -> None:
        """Ask the store again and again, until cancelled."""
        while True:
            await sleep(PING_EVERY_SECONDS)
            await self.look()

    def shut_down(self) -> None:
        """Tell everybody who watches NOT_SERVING, and end their streams."""
        self._closing = True
        if self._doubt is not None:
            self._doubt.cancel()
        self._wake()

    def add_to(self, server: grpc.aio.Server) -> None:
        """Register `grpc.health.v1` on `server`, before the server starts."""
        kinds = {"Check": grpc.unary_unary_rpc_method_handler, "Watch": grpc.unary_stream_rpc_method_handler}
        handlers: dict[str, Any] = {
            name: kinds[name](
                method,
                request_deserializer=lambda data: HealthCheckRequest.FromString(data).service,
                response_serializer=lambda status: HealthCheckResponse(status=status).SerializeToString(),
            )
            for name, method in (("Check", self._check), ("Watch", self._watch))
        }
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(HEALTH, handlers),))

    async def _check(self, service: str, context: "grpc.aio.ServicerContext[str, ServingStatus]") -> ServingStatus:
        if service == SERVICE_NAME and self._doubt is not None:
            await asyncio.wait({self._doubt})
        status = self._status(service)
        if status is ServingStatus.SERVICE_UNKNOWN:
            what = f"there is no service {service!r}: ask about '', or {SERVICE_NAME!r} for readiness"
            await context.abort(grpc.StatusCode.NOT_FOUND, what)
        return status

    async def _watch(self, service: str, context: "grpc.aio.ServicerContext[str, ServingStatus]") -> None:
        if self._watchers >= MAX_WATCHERS:
            await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, f"{MAX_WATCHERS} clients watch already")
        self._watchers += 1
        try:
            told = None
            while True:
                changed = self._changed
                status = self._status(service)
                if status is not told:
                    told = status
                    await context.write(status)
                if self._closing and changed is self._changed:
                    return
                await changed.wait()
        finally:
            self._watchers -= 1

    def _status(self, service: str) -> ServingStatus:
        if service not in {"", SERVICE_NAME}:
            return ServingStatus.SERVICE_UNKNOWN
        unwell = self._closing if service == "" else self.fault is not None
        return ServingStatus.NOT_SERVING if unwell else ServingStatus.SERVING

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
