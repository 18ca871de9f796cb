"""A Worker that follows a script: a real gRPC server, whose words and silences are up to the test."""

import asyncio
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Self

import grpc
import grpc.aio
from google.protobuf.message import DecodeError

import loadmonitor_proto as wire
from loadmonitor_proto.service import add_load_monitor_servicer


class ScriptedStream:
    """One Router's stream at a ScriptedWorker.

    Attributes:
        register: The Router's first frame.
    """

    def __init__(
        self, context: "grpc.aio.ServicerContext[wire.RouterFrame, wire.WorkerFrame | bytes]", *, obeys_stop: bool
    ) -> None:
        """Wrap the server's side of the call."""
        self._context = context
        self._obeys_stop = obeys_stop
        self._frames: asyncio.Queue[wire.RouterFrame | AssertionError | None] = asyncio.Queue()
        self._over = asyncio.Event()
        self._status: tuple[grpc.StatusCode, str] | None = None
        self.register: wire.RegisterRequest = wire.RegisterRequest()

    async def receive(self) -> wire.RouterFrame | None:
        """Wait for the Router's next frame; None once it says no more or is gone.

        Raises:
            AssertionError: It sent bytes that are no frame.
        """
        frame = await self._frames.get()
        if isinstance(frame, AssertionError):
            raise frame
        return frame

    async def send(self, frame: wire.WorkerFrame | bytes) -> None:
        """Send any frame, or bytes that are none."""
        await self._context.write(frame)

    async def acknowledge(
        self,
        *,
        lease_ttl_ms: int = 15_000,
        renew_after_ms: int = 5_000,
        source_instance_id: str = "a",
        extended: bool = True,
    ) -> None:
        """Grant the registration; without `extended` as a Worker of the first version does."""
        response = wire.RegisterResponse(lease_ttl_ms=lease_ttl_ms, renew_after_ms=renew_after_ms)
        if extended:
            response.report_interval_ms = max(10, self.register.report_interval_ms)
            response.stale_after_ms = 3_000
            response.source_instance_id = source_instance_id
            response.min_report_interval_ms = 10
            response.max_lease_ttl_ms = 300_000
        await self.send(wire.WorkerFrame(registered=response))

    async def report(self, report: wire.LoadReport) -> None:
        """Send a report."""
        await self.send(wire.WorkerFrame(report=report))

    async def fail(self, code: str, message: str = "") -> None:
        """Send an error and end the stream, as the contract has it."""
        await self.send(wire.WorkerFrame(error=wire.StreamError(code=code, message=message)))
        await self.end()

    async def end(self, code: grpc.StatusCode = grpc.StatusCode.OK, details: str = "") -> None:
        """End the stream with a gRPC status."""
        self._close(code, details)

    def _close(self, code: grpc.StatusCode, details: str) -> None:
        self._status = None if code is grpc.StatusCode.OK else (code, details)
        self._over.set()

    async def serve(self, frames: AsyncIterator[wire.RouterFrame]) -> None:
        """Keep the call alive, and collect what the Router sends, until the script ends it."""
        pump = asyncio.create_task(self._collect(frames))
        try:
            await self._over.wait()
        finally:
            pump.cancel()
            await asyncio.wait({pump})
        if self._status is not None:
            await self._context.abort(*self._status)

    async def _collect(self, frames: AsyncIterator[wire.RouterFrame]) -> None:
        try:
            async for frame in frames:
                self._frames.put_nowait(frame)
                if self._obeys_stop and frame.HasField("stop"):
                    self._close(grpc.StatusCode.OK, "")
        except DecodeError:
            self._frames.put_nowait(AssertionError("the Router sent bytes that are no RouterFrame"))
        finally:
            self._frames.put_nowait(None)


class ScriptedWorker:
    """A Worker on 127.0.0.1 that does what the test tells it to, and nothing else.

    Attributes:
        address: Where it listens.
    """

    def __init__(self, *, port: int = 0, has_service: bool = True, obeys_stop: bool = True) -> None:
        """Choose how it behaves by itself.

        Args:
            port: Where to listen; 0 for any free port.
            has_service: False makes it a gRPC server that reports no load.
            obeys_stop: False leaves a stream open after the Router's `stop`.
        """
        self._port = port
        self._has_service = has_service
        self._obeys_stop = obeys_stop
        self._streams: asyncio.Queue[ScriptedStream] = asyncio.Queue()
        self.address: str = ""

    async def __aenter__(self) -> Self:
        self._server = grpc.aio.server(options=[("grpc.so_reuseport", 0)])
        if self._has_service:
            add_load_monitor_servicer(self, self._server)
        self._port = self._server.add_insecure_port(f"127.0.0.1:{self._port}")
        self.address = f"127.0.0.1:{self._port}"
        await self._server.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._server.stop(None)

    @property
    def port(self) -> int:
        """The port it listens on; a Worker that is entered later may take it over."""
        return self._port

    async def accept(self) -> ScriptedStream:
        """Wait for the next Router, and for its first frame."""
        stream = await self._streams.get()
        frame = await stream.receive()
        if frame is not None:
            stream.register = frame.register
        return stream

    async def Monitor(  # noqa: N802 - the method's name on the wire
        self,
        request_iterator: AsyncIterator[wire.RouterFrame],
        context: "grpc.aio.ServicerContext[wire.RouterFrame, wire.WorkerFrame | bytes]",
    ) -> None:
        """Serve one Router."""
        stream = ScriptedStream(context, obeys_stop=self._obeys_stop)
        self._streams.put_nowait(stream)
        await stream.serve(request_iterator)
