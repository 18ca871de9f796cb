"""A reporter on a manual clock, and a Router's bare stream to it over real gRPC."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

import grpc.aio

from loadmonitor_proto import (
    KeepAlive,
    LoadReport,
    RegisterRequest,
    RegisterResponse,
    RouterFrame,
    StreamError,
    WorkerFrame,
)
from loadmonitor_proto.service import LoadMonitorStub
from loadmonitor_worker import LoadReporter
from loadmonitor_worker._session import LEASE_GRACE_NS
from loadmonitor_worker.testing import FakeSource, ManualClock

WAIT_SECONDS = 5
LEASE_GRACE_MS = LEASE_GRACE_NS / 1_000_000


@dataclass
class Router:
    """One stream of a Router, driven frame by frame."""

    call: "grpc.aio.StreamStreamCall[RouterFrame, WorkerFrame | None]"

    async def send(self, frame: RouterFrame) -> None:
        await self.call.write(frame)

    async def register(
        self, router_id: str = "r", *, interval_ms: int = 1_000, lease_ms: int = 15_000, window: int | None = None
    ) -> RegisterResponse:
        await self.send(register(router_id, interval_ms=interval_ms, lease_ms=lease_ms, window=window))
        frame = await self.receive()
        assert frame.WhichOneof("payload") == "registered", frame
        return frame.registered

    async def receive(self) -> WorkerFrame:
        async with asyncio.timeout(WAIT_SECONDS):
            frame = await self.call.read()
        assert isinstance(frame, WorkerFrame), "the stream ended"
        return frame

    async def report(self) -> LoadReport:
        frame = await self.receive()
        assert frame.WhichOneof("payload") == "report", frame
        return frame.report

    async def ended(self) -> StreamError | None:
        """Read to the end of the stream: the error frame if there was one; the status must be OK."""
        error = None
        async with asyncio.timeout(WAIT_SECONDS):
            while isinstance(frame := await self.call.read(), WorkerFrame):
                assert error is None, "a frame followed the error"
                if frame.WhichOneof("payload") == "error":
                    error = frame.error
            assert await self.call.code() is grpc.StatusCode.OK
        return error

    async def keep_alive(self, acked: int | None = None) -> None:
        await self.send(RouterFrame(keep_alive=KeepAlive(acked_sequence_id=acked)))


def register(
    router_id: str = "r", *, interval_ms: int = 1_000, lease_ms: int = 15_000, window: int | None = None
) -> RouterFrame:
    return RouterFrame(
        register=RegisterRequest(
            router_id=router_id, report_interval_ms=interval_ms, lease_ttl_ms=lease_ms, max_unacked_reports=window
        )
    )


@dataclass
class Bench:
    """A running reporter with everything that a test moves."""

    clock: ManualClock
    source: FakeSource
    reporter: LoadReporter
    stack: AsyncExitStack
    channels: list[grpc.aio.Channel] = field(default_factory=list)

    async def router(self) -> Router:
        """Open a stream on a connection of its own."""
        channel = grpc.aio.insecure_channel(self.reporter.address, options=[("grpc.use_local_subchannel_pool", 1)])
        await self.stack.enter_async_context(channel)
        return Router(LoadMonitorStub(channel).Monitor())

    async def registered(
        self, router_id: str = "r", *, interval_ms: int = 1_000, lease_ms: int = 15_000, window: int | None = None
    ) -> Router:
        """Open a stream, register, and take the first report, which is due at once."""
        router = await self.router()
        await router.register(router_id, interval_ms=interval_ms, lease_ms=lease_ms, window=window)
        await router.report()
        return router

    def lease_until_ms(self, router_id: str = "r") -> float:
        """When the lease of a registered router runs out: shows that its frame was read, which nothing on the wire does."""
        session = self.reporter._server._monitor._table.holder(router_id)
        assert session is not None
        return session.lease_until_ns / 1_000_000

    async def acknowledge(self, router: Router, sequence_id: int, router_id: str = "r") -> None:
        """Acknowledge for a registered router, and wait until the reporter has read it."""
        session = self.reporter._server._monitor._table.holder(router_id)
        assert session is not None
        await router.keep_alive(acked=sequence_id)
        await self.seen(lambda: all(unacked > sequence_id for unacked in session._unacked))

    def report_waits(self, router_id: str = "r") -> bool:
        """Whether a report has been offered to a registered router that gRPC hasn't taken yet."""
        session = self.reporter._server._monitor._table.holder(router_id)
        return session is not None and session._report is not None

    def open_streams(self) -> int:
        """How many streams the reporter holds, also those whose session ended."""
        return len(self.reporter._server._monitor._table.open_streams)

    @staticmethod
    async def seen(condition: Callable[[], bool]) -> None:
        """Wait until frames that are on their way have had their effect."""
        async with asyncio.timeout(WAIT_SECONDS):
            while not condition():  # noqa: ASYNC110 - the reporter tells nobody that it read a frame
                await asyncio.sleep(0)


StartBench = Callable[..., Awaitable[Bench]]
