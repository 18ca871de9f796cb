"""The gRPC side of a reporter: one handler a stream, which is also the stream's only writer."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from functools import partial

import grpc.aio
from google.protobuf.message import DecodeError

from loadmonitor_proto import RouterFrame, StreamErrorCode, WorkerFrame
from loadmonitor_worker._admission import first_refusal, identify
from loadmonitor_worker._meter import Meter
from loadmonitor_worker._protocol import Monitor
from loadmonitor_worker._session import Session
from loadmonitor_worker.authorization import CallMetadata
from loadmonitor_worker.interfaces import Authorizer, Clock


class MonitorServicer:
    """Serves `Monitor`: a task reads the Router's frames into the protocol, the handler writes what it queues.

    A stream ends by its handler's return, which only happens between two writes: a handler that is cancelled, or that returns
    beside a write in progress, leaves grpc.aio with an RPC that never closes. On a peer that doesn't read, the handler
    stays in its write until the peer reads on or its connection dies; the session itself ends at once.

    The reading task is never cancelled, because grpc.aio leaks a cancelled read; it ends with the RPC.

    Attributes:
        reading: The reading tasks of open streams.
        meter: Told of what is written, where somebody measures.
    """

    def __init__(self, monitor: Monitor, authorizers: Sequence[Authorizer], clock: Clock) -> None:
        self._monitor = monitor
        self._authorizers = authorizers
        self._clock = clock
        self.reading: set[asyncio.Task[None]] = set()
        self.meter: Meter | None = None

    async def Monitor(  # noqa: N802 - the method's name on the wire
        self,
        request_iterator: AsyncIterator[RouterFrame],
        context: "grpc.aio.ServicerContext[RouterFrame, WorkerFrame | bytes]",
    ) -> None:
        """Serve one Router until its session ends."""
        loop = asyncio.get_running_loop()
        waiting: asyncio.Future[None] | None = None

        def wake() -> None:
            if waiting is not None and not waiting.done():
                waiting.set_result(None)

        metadata = CallMetadata((key, value) for key, value in context.invocation_metadata() or ())
        peer = identify(context.peer(), context.auth_context())
        refusal = partial(first_refusal, self._authorizers, peer, metadata)
        session = Session(on_ready=wake, peer=peer.address, refusal=refusal)
        del metadata, refusal  # this frame lives as long as the stream
        self._monitor.stream_opened(session)
        reading = loop.create_task(self._read(request_iterator, session), name="loadmonitor-read")
        self.reading.add(reading)
        reading.add_done_callback(self.reading.discard)
        try:
            while True:
                frame = session.take()
                if frame is not None:
                    await context.write(frame)
                    if self.meter is not None:
                        self.meter.sent_bytes += len(frame)
                elif session.ended:
                    return
                else:
                    waiting = loop.create_future()
                    await waiting
        except grpc.aio.BaseError:
            return  # the Router is gone, and with it the stream
        finally:
            self._monitor.stream_closed(session)

    async def _read(self, request_iterator: AsyncIterator[RouterFrame], session: Session) -> None:
        try:
            async for frame in request_iterator:
                self._monitor.frame(session, frame, self._clock.monotonic_ns())
        except DecodeError as exc:
            self._monitor.fail(session, StreamErrorCode.INVALID_ARGUMENT, f"the frame is not a RouterFrame: {exc}")
        except grpc.aio.BaseError:
            pass  # the RPC ended while this read was pending
        # A Router that half-closes can't renew its lease any more.
        self._monitor.stop(session)
