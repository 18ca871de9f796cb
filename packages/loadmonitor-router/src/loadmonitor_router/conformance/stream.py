"""A Router's stream to the Worker under test, frame by frame, with nothing in between that would forgive."""

import asyncio
import time
from contextlib import suppress

import grpc
import grpc.aio
from google.protobuf.message import DecodeError

from loadmonitor_proto import LoadReport, RouterFrame, WorkerFrame
from loadmonitor_proto.service import MONITOR_METHOD
from loadmonitor_router.conformance.dialling import Dialling
from loadmonitor_router.conformance.frames import describe, stop
from loadmonitor_router.conformance.results import Deviation

_GOODBYE_SECONDS = 1.0


class Silence(Deviation):
    """Nothing arrived in time."""


class RouterStream:
    """One Monitor call on a connection of its own.

    Attributes:
        opened_at: When it was dialled, in seconds of `time.monotonic`.
        received_at: When the frame that was taken last arrived, in the same seconds.
    """

    def __init__(self, dialling: Dialling, timeout_seconds: float) -> None:
        """Prepare; `timeout_seconds` bounds each wait for a frame."""
        self._dialling = dialling
        self._timeout_seconds = timeout_seconds
        self._queue: asyncio.Queue[tuple[float, WorkerFrame | Deviation] | None] = asyncio.Queue()
        self._reads = asyncio.Event()
        self._reads.set()
        self._ended = asyncio.Event()
        self.received_at: float = 0.0

    def dial(self) -> None:
        """Open the call; there is no need to wait for the connection."""
        self._channel = self._dialling.channel()
        opening: grpc.aio.StreamStreamMultiCallable[bytes, bytes] = self._channel.stream_stream(MONITOR_METHOD)
        self._call = opening(metadata=self._dialling.metadata)
        self.opened_at: float = time.monotonic()
        # Never cancelled: that would cancel the call. Iterating also delivers what a failed write would hide from read().
        self._reading = asyncio.create_task(self._read(), name="conformance-read")

    async def close(self) -> None:
        """Say `stop` and hang up.

        A Worker that counts sessions has counted this one off before the next check begins.
        """
        self._reads.set()
        if not self.ended:
            with suppress(TimeoutError, Silence):
                async with asyncio.timeout(_GOODBYE_SECONDS):
                    await self.send(stop())
                    await self._ended.wait()
        self._call.cancel()
        await asyncio.wait({self._reading})
        await self._channel.close()

    async def send(self, frame: RouterFrame | bytes) -> None:
        """Send a frame, or bytes that are none; when the stream is over already, what was received will tell.

        Raises:
            Silence: The Worker takes no frames.
        """
        data = frame if isinstance(frame, bytes) else frame.SerializeToString()
        try:
            async with asyncio.timeout(self._timeout_seconds):
                with suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
                    await self._call.write(data)
        except TimeoutError:
            raise Silence(f"no frame was taken for {self._timeout_seconds:g} s") from None

    # Reading

    def stall(self) -> None:
        """Read nothing more, so that frames pile up on the way."""
        self._reads.clear()

    def go_on(self) -> None:
        """Read again."""
        self._reads.set()

    def arrived(self) -> list[WorkerFrame]:
        """Return the frames that have arrived and were not taken.

        Raises:
            Deviation: Bytes arrived that are no frame.
        """
        frames: list[WorkerFrame] = []
        while not self._queue.empty() and (frame := self._take(self._queue.get_nowait())) is not None:
            frames.append(frame)
        return frames

    async def receive(self, timeout_seconds: float | None = None) -> WorkerFrame | None:
        """Return the next frame, or None when the stream has ended.

        Raises:
            Deviation: Nothing arrived in time (then it is a Silence), or what arrived is no frame.
        """
        seconds = self._timeout_seconds if timeout_seconds is None else timeout_seconds
        try:
            async with asyncio.timeout(seconds):
                return self._take(await self._queue.get())
        except TimeoutError:
            raise Silence(f"nothing within {seconds:g} s") from None

    async def report(self, timeout_seconds: float | None = None) -> LoadReport:
        """Return the next report.

        Raises:
            Deviation: Something else came, or nothing.
        """
        try:
            frame = await self.receive(timeout_seconds)
        except Silence as nothing:
            raise Silence(f"{nothing} instead of a report") from None
        if frame is None or frame.WhichOneof("payload") != "report":
            raise Deviation(f"{await self._words(frame)} instead of a report")
        return frame.report

    async def refusal(self, code: str, to: str) -> None:
        """Take the error with this code, after any reports.

        Raises:
            Deviation: Something else came, or nothing; `to` says what it was the answer to.
        """
        try:
            while (frame := await self.receive()) is not None and frame.HasField("report"):
                pass
        except Silence as nothing:
            raise Deviation(f"{nothing} after {to}, not {code}") from None
        if frame is None or not frame.HasField("error") or frame.error.code != code:
            raise Deviation(f"{await self._words(frame)} after {to}, not {code}")

    async def arriving(self, seconds: float) -> list[WorkerFrame]:
        """Return what arrives within so many seconds."""
        frames: list[WorkerFrame] = []
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            try:
                frame = await self.receive(left)
            except Silence:
                break
            if frame is None:
                break
            frames.append(frame)
        return frames

    async def ending(self) -> tuple[list[WorkerFrame], grpc.StatusCode]:
        """Return what comes until the stream ends, and its status.

        Raises:
            Deviation: It doesn't end, each frame being awaited in vain or the whole lasting twice as long.
        """
        frames: list[WorkerFrame] = []
        until = time.monotonic() + 2 * self._timeout_seconds
        try:
            while (frame := await self.receive()) is not None:
                frames.append(frame)
                if time.monotonic() > until:
                    raise Deviation(f"{len(frames)} more frames, the last {describe(frame)}, and no end of the stream")
        except Silence as nothing:
            raise Silence(f"{nothing}, and no end of the stream") from None
        return frames, await self._call.code()

    @property
    def ended(self) -> bool:
        """Whether the Worker has ended the stream."""
        return self._ended.is_set()

    async def _words(self, frame: WorkerFrame | None) -> str:
        if frame is not None:
            return describe(frame)
        return f"the end of the stream with status {(await self._call.code()).name}"

    def _take(self, item: tuple[float, WorkerFrame | Deviation] | None) -> WorkerFrame | None:
        if item is None:
            self._queue.put_nowait(None)  # the end stays the end, however often it is asked for
            return None
        self.received_at, frame = item
        if isinstance(frame, Deviation):
            raise frame
        return frame

    async def _read(self) -> None:
        try:
            async for data in self._call:
                self._queue.put_nowait((time.monotonic(), _decoded(data)))
                await self._reads.wait()
        except (grpc.aio.AioRpcError, asyncio.CancelledError):
            pass  # the call's status says what happened
        finally:
            self._ended.set()
            self._queue.put_nowait(None)


def _decoded(data: bytes) -> WorkerFrame | Deviation:
    try:
        return WorkerFrame.FromString(data)
    except DecodeError:
        return Deviation(f"{len(data)} bytes that are no WorkerFrame")
