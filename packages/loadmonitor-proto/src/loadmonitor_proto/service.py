"""The gRPC seam of `LoadMonitorService`: a stub, a servicer Protocol and its registration; only this needs grpcio.

Written by hand because generated gRPC code binds its users to one band of grpcio versions.
"""

from collections.abc import AsyncIterator
from typing import Any, Protocol

import grpc
import grpc.aio
from google.protobuf.message import DecodeError

from loadmonitor_proto.v1.load_monitor_pb2 import DESCRIPTOR, RouterFrame, WorkerFrame

__all__ = [
    "MONITOR_METHOD",
    "SERVICE_NAME",
    "LoadMonitorServicer",
    "LoadMonitorStub",
    "add_load_monitor_servicer",
]

SERVICE_NAME: str = DESCRIPTOR.services_by_name["LoadMonitorService"].full_name
MONITOR_METHOD: str = f"/{SERVICE_NAME}/Monitor"


class LoadMonitorStub:
    """The Router's side of `LoadMonitorService` on an asyncio channel.

    Attributes:
        Monitor: Opens the stream: `call = stub.Monitor()`, then `call.write(RouterFrame)` and `call.read()`, or async
            iteration over the WorkerFrames; a frame that doesn't parse is None.
    """

    def __init__(self, channel: grpc.aio.Channel) -> None:
        """Bind the stub to `channel`; nothing is dialled yet."""
        self.Monitor: grpc.aio.StreamStreamMultiCallable[RouterFrame, WorkerFrame | None] = channel.stream_stream(
            MONITOR_METHOD,
            request_serializer=RouterFrame.SerializeToString,
            response_deserializer=_worker_frame,
        )


class LoadMonitorServicer(Protocol):
    """The Worker's side of `LoadMonitorService`."""

    async def Monitor(  # noqa: N802 - the method's name on the wire
        self,
        request_iterator: AsyncIterator[RouterFrame],
        context: "grpc.aio.ServicerContext[RouterFrame, WorkerFrame | bytes]",
    ) -> None:
        """Serve one Router until the stream ends.

        Answers go out by `context.write`: a WorkerFrame, or the bytes of one that was serialised before.
        A frame that doesn't parse raises `google.protobuf.message.DecodeError` out of `request_iterator`.
        """


def add_load_monitor_servicer(servicer: LoadMonitorServicer, server: grpc.aio.Server) -> None:
    """Register `servicer` for `LoadMonitorService` on `server`, before the server starts."""
    handler: Any = grpc.stream_stream_rpc_method_handler(
        servicer.Monitor,
        request_deserializer=RouterFrame.FromString,
        response_serializer=_frame_bytes,
    )
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE_NAME, {"Monitor": handler}),))


def _frame_bytes(frame: WorkerFrame | bytes) -> bytes:
    return frame if isinstance(frame, bytes) else frame.SerializeToString()


def _worker_frame(data: bytes) -> WorkerFrame | None:
    # Whoever is at the other end may send anything; gRPC would log an error raised here, with its traceback, each time.
    try:
        return WorkerFrame.FromString(data)
    except DecodeError:
        return None
