"""A Router that follows a script: a real gRPC stream, frame by frame, whose words and silences are up to the test."""

import asyncio
from contextlib import suppress
from types import TracebackType
from typing import Self

import grpc
import grpc.aio
from google.protobuf.message import DecodeError

import loadmonitor_proto as wire
from loadmonitor_proto.channel import client_options
from loadmonitor_proto.service import MONITOR_METHOD


class ScriptedRouter:
    """One stream of a Router to a Worker; enter to dial, leave to hang up.

    It does nothing by itself: it renews no lease and acknowledges no report. Every wait is bounded, and what comes instead of what
    was waited for is an AssertionError that says so.

    Attributes:
        status: How gRPC ended the stream; None while it lives.
    """

    def __init__(self, address: str, *, timeout_seconds: float = 5.0) -> None:
        """Prepare; nothing is dialled yet.

        Args:
            address: Where the Worker listens, such as `LoadReporter.address`.
            timeout_seconds: How long to wait for a frame, or the end.
        """
        self._address = address
        self._timeout_seconds = timeout_seconds
        self._frames: asyncio.Queue[wire.WorkerFrame | AssertionError | None] = asyncio.Queue()
        self._reads = asyncio.Event()
        self._reads.set()
        self.status: grpc.StatusCode | None = None

    async def __aenter__(self) -> Self:
        self._channel = grpc.aio.insecure_channel(self._address, options=tuple(client_options().items()))
        # Bytes both ways: a test can send what is no frame, and gRPC doesn't log what comes as none.
        opening: grpc.aio.StreamStreamMultiCallable[bytes, bytes] = self._channel.stream_stream(MONITOR_METHOD)
        self._call = opening()
        # Iterating delivers what a failed write would hide from read(); the task is never cancelled, as that leaks in grpc.aio.
        self._reading = asyncio.create_task(self._read(), name="scripted-router-read")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._reads.set()
        self._call.cancel()
        await asyncio.wait({self._reading})
        await self._channel.close()

    # What a Router says

    async def send(self, frame: wire.RouterFrame | bytes) -> None:
        """Send any frame, or bytes that are none; a stream that is over takes them without a word."""
        data = frame if isinstance(frame, bytes) else frame.SerializeToString()
        async with asyncio.timeout(self._timeout_seconds):
            with suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
                await self._call.write(data)

    async def register(
        self,
        router_id: str = "router",
        *,
        report_interval_ms: int = 1_000,
        lease_ttl_ms: int = 15_000,
        max_unacked_reports: int | None = None,
    ) -> wire.RegisterResponse:
        """Register and return the acknowledgement, which must be the next frame."""
        request = wire.RegisterRequest(
            router_id=router_id,
            report_interval_ms=report_interval_ms,
            lease_ttl_ms=lease_ttl_ms,
            max_unacked_reports=max_unacked_reports,
        )
        await self.send(wire.RouterFrame(register=request))
        return (await self._expect("registered")).registered

    async def update_config(self, *, report_interval_ms: int | None = None, lease_ttl_ms: int | None = None) -> None:
        """Ask for another interval or lease; None leaves it as it is."""
        request = wire.UpdateConfigRequest(report_interval_ms=report_interval_ms, lease_ttl_ms=lease_ttl_ms)
        await self.send(wire.RouterFrame(update_config=request))

    async def keep_alive(self, acked_sequence_id: int | None = None) -> None:
        """Renew the lease, and acknowledge all reports up to one."""
        await self.send(wire.RouterFrame(keep_alive=wire.KeepAlive(acked_sequence_id=acked_sequence_id)))

    async def stop(self) -> None:
        """Say that no more reports are wanted."""
        await self.send(wire.RouterFrame(stop=wire.StopRequest()))

    # What it hears

    async def receive(self) -> wire.WorkerFrame | None:
        """Return the next frame, or None at the end of the stream.

        Raises:
            AssertionError: Nothing came in time, or bytes that are no frame.
        """
        try:
            async with asyncio.timeout(self._timeout_seconds):
                frame = await self._frames.get()
        except TimeoutError:
            raise AssertionError(f"the Worker said nothing within {self._timeout_seconds:g} s") from None
        if frame is None:
            self._frames.put_nowait(None)  # the end stays the end, however often it is asked for
        elif isinstance(frame, AssertionError):
            raise frame
        return frame

    async def report(self) -> wire.LoadReport:
        """Return the report that must come next.

        Raises:
            AssertionError: Something else came, or nothing in time.
        """
        return (await self._expect("report")).report

    async def ended(self) -> wire.StreamError | None:
        """Read to the end of the stream, past any reports; return the error that the Worker ended it with, or None.

        Raises:
            AssertionError: Something followed the error, or the end didn't come.
        """
        error: wire.StreamError | None = None
        while (frame := await self.receive()) is not None:
            if error is not None:
                raise AssertionError(f"after the error {error.code} the Worker sent {frame.WhichOneof('payload')}")
            if frame.HasField("error"):
                error = frame.error
        return error

    def stall(self) -> None:
        """Read nothing more, as a Router does whose event loop is blocked."""
        self._reads.clear()

    def go_on(self) -> None:
        """Read again."""
        self._reads.set()

    async def _expect(self, payload: str) -> wire.WorkerFrame:
        frame = await self.receive()
        if frame is None:
            raise AssertionError(f"the Worker ended the stream with status {self.status}, not {payload}")
        if frame.WhichOneof("payload") != payload:
            said = f" {frame.error.code}: {frame.error.message}" if frame.HasField("error") else ""
            raise AssertionError(f"the Worker sent {frame.WhichOneof('payload')}{said}, not {payload}")
        return frame

    async def _read(self) -> None:
        with suppress(grpc.aio.AioRpcError, asyncio.CancelledError):  # the status says what happened
            async for data in self._call:
                self._frames.put_nowait(_decoded(data))
                await self._reads.wait()
        self.status = await self._call.code()
        self._frames.put_nowait(None)


def _decoded(data: bytes) -> wire.WorkerFrame | AssertionError:
    try:
        return wire.WorkerFrame.FromString(data)
    except DecodeError:
        return AssertionError("the Worker sent bytes that are no WorkerFrame")
