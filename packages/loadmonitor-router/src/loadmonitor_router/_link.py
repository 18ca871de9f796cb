"""One Monitor call on a channel of its own: opened, read by one task to its end, and left without a trace.

grpc.aio has habits that this module keeps from its caller:

- Cancelling a read cancels the call, so one task reads for as long as the call lives; nothing waits on a read with a
  time-out.
- A write on a call that the peer has ended fails, and from then on `read()` fails too, although frames wait unread:
  the error frame that says why, for one. Iteration still delivers them, so that is how frames are read, and a failed
  write isn't a loss by itself: what counts is what the reading task comes to. Such a call can't be cancelled any more, and
  keeps its connection until its last frame is read.
- A call that is over still owns tasks until the loop has run them, so leaving waits for them.
- A closed channel keeps its connection for as long as anything refers to a call of it, and the error that ended the
  stream lives through the whole back-off with all frames of its traceback. So what is left behind refers to no call.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from traceback import clear_frames
from types import TracebackType
from typing import Self, cast

import grpc
import grpc.aio

from loadmonitor_proto import RouterFrame, StopRequest, WorkerFrame
from loadmonitor_proto.service import SERVICE_NAME, LoadMonitorStub
from loadmonitor_router._channel import make_channel
from loadmonitor_router._clock import Signal
from loadmonitor_router._credential_files import read_metadata, read_tls
from loadmonitor_router._stream import StreamLostError
from loadmonitor_router.connection import TlsFault
from loadmonitor_router.credentials import PLAINTEXT, Credentials
from loadmonitor_router.errors import CredentialFileError
from loadmonitor_router.interfaces import Clock, TimerHandle

_PREAMBLE = "failed to connect to all addresses; last error: UNKNOWN: "
_CLOSED = "closed by this router"
_WRITE_FAILED = "Internal error from Core"


class NoServiceError(StreamLostError):
    """Something answers at the address, but it has no load reporter."""


class UnheardError(StreamLostError):
    """The Worker ended the call before the first frame was on its way, and gRPC has lost what it said.

    Releases before 1.84 put the failed write in place of the Worker's status. Who reads before writing gets to hear it.
    """


class Link:
    """An open call; enter to dial, leave to hang up.

    Every change wakes `signal`: connected or not, a frame taken in, ended.
    """

    def __init__(
        self,
        address: str,
        options: Sequence[tuple[str, int | str]],
        signal: Signal,
        clock: Clock,
        credentials: Credentials = PLAINTEXT,
    ) -> None:
        """Prepare; nothing is dialled, and no file is read, before the link is entered."""
        self._address = address
        self._options = options
        self._signal = signal
        self._clock = clock
        self._credentials = credentials
        self._reader: asyncio.Task[None] | None = None
        self._give_up: TimerHandle | None = None
        self._failure = "the Worker ended the stream"

    async def __aenter__(self) -> Self:
        try:
            tls, metadata = read_tls(self._credentials), read_metadata(self._credentials)
        except CredentialFileError as error:
            raise StreamLostError(f"credentials: {error}", fault=TlsFault.CREDENTIAL_FILE) from None
        self._channel = make_channel(self._address, tls, self._options)
        self._call = LoadMonitorStub(self._channel).Monitor(metadata=metadata)
        self._connecting = asyncio.create_task(self._call.wait_for_connection(), name=f"dial {self._address}")
        self._connecting.add_done_callback(self._signal.set)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._give_up is not None:
            self._give_up.cancel()
        self._call.cancel()
        self._connecting.cancel()
        if self._reader is None:
            self.start_reading(lambda _: None)  # a reader waits for the task with which gRPC opened the call
        tasks = [task for task in (self._connecting, self._reader) if task is not None]
        await asyncio.wait(tasks)
        for task in tasks:
            _forget_frames(task)
        await self._channel.close()
        self._reader = None
        del self._call, self._connecting, self._channel

    def connected(self) -> bool:
        """Tell whether the connection stands.

        Raises:
            StreamLostError: It can't be had.
        """
        return self._finished(self._connecting)

    def start_reading(self, take: Callable[[WorkerFrame | None], None]) -> None:
        """Hand every frame, or None for one that doesn't parse, to `take` until the call ends or `take` raises."""
        self._reader = asyncio.create_task(self._read(take), name=f"read {self._address}")
        self._reader.add_done_callback(self._signal.set)

    def check(self) -> None:
        """Do nothing while the call lives.

        Raises:
            StreamLostError: It is over, and everything that had arrived was taken in.
            StreamRefusedError: `take` raised it.
        """
        if self._reader is not None and self._finished(self._reader):
            raise StreamLostError(self._failure)

    async def send(self, frame: RouterFrame, deadline_ns: int, why: str) -> None:
        """Send one frame; a peer that doesn't take it before `deadline_ns` is given up for that reason.

        That it can't be sent shows in the next `check`, or in a later one: frames that had arrived are taken in first.
        """
        await self._write(self._call.write(frame), deadline_ns, why)

    async def finish(self, deadline_ns: int) -> None:
        """Send `stop`, and that nothing more will come; a peer that doesn't end the call by `deadline_ns` is given up."""
        await self._write(self._call.write(RouterFrame(stop=StopRequest())), deadline_ns, _CLOSED)
        await self._write(self._call.done_writing(), deadline_ns, _CLOSED)
        self._give_up_at(deadline_ns, _CLOSED)

    def abort(self, why: str = _CLOSED) -> None:
        """End the call at once; `check` raises with this reason."""
        self._failure = why
        self._call.cancel()

    async def _read(self, take: Callable[[WorkerFrame | None], None]) -> None:
        # The call's iterator is an async generator: left in the middle, it must be closed here and not by the collector.
        async with contextlib.aclosing(
            cast("AsyncGenerator[WorkerFrame | None, None]", self._call.__aiter__())
        ) as frames:
            try:
                async for frame in frames:
                    take(frame)
                    self._signal.set()
            except Exception:
                if not self._call.cancel():
                    # A failed write has ended it for grpc.aio. For gRPC it ends, and lets the connection go, once all is read.
                    with contextlib.suppress(grpc.aio.AioRpcError, asyncio.CancelledError):
                        async for _ in frames:
                            pass
                raise

    async def _write(self, operation: Awaitable[None], deadline_ns: int, why: str) -> None:
        self._give_up_at(deadline_ns, why)
        try:
            await operation
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            return  # it was the call that was cancelled
        except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
            self._failure = "the Worker ended the stream while a frame was on its way to it"
            return  # the deadline stays: the reading task must come to its end by then
        if self._give_up is not None:
            self._give_up.cancel()

    def _give_up_at(self, deadline_ns: int, why: str) -> None:
        if self._give_up is not None:
            self._give_up.cancel()
        self._give_up = self._clock.call_at(deadline_ns, lambda: self.abort(why))

    def _finished(self, task: asyncio.Task[None]) -> bool:
        if not task.done():
            return False
        if task.cancelled():
            raise StreamLostError(self._failure)
        error = task.exception()
        if isinstance(error, grpc.aio.AioRpcError):
            if error.code() is grpc.StatusCode.UNIMPLEMENTED:
                raise NoServiceError(
                    f"{self._address} has no {SERVICE_NAME} (gRPC UNIMPLEMENTED): "
                    "start the engine's load reporter, or give the reporter's port instead of the engine's"
                )
            if error.details() == _WRITE_FAILED:
                raise UnheardError("the Worker ended the stream while a frame was on its way to it")
            raise StreamLostError(f"{error.code().name}: {(error.details() or '').removeprefix(_PREAMBLE)}")
        if error is not None:
            raise error
        return True


def _forget_frames(task: asyncio.Task[None]) -> None:
    """Let go of what a task that is over had in hand; how it ended was seen already, or is of no interest any more."""
    try:
        error = task.exception()
    except asyncio.CancelledError as cancelled:  # such a task keeps what it was cancelled with, and the frames of that
        clear_frames(cancelled.__traceback__)
    else:
        if error is not None:
            clear_frames(error.__traceback__)
