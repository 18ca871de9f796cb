"""Fakes for tests of programs that use this package: a clock moved by hand, and a Worker that follows a script.

The Worker is a real gRPC server on 127.0.0.1; what it says, and when, is up to the test:

    async with ScriptedWorker() as worker, MonitorClient(worker.address, router_id="r") as client:
        stream = await worker.accept()
        await stream.acknowledge()
        await stream.report(wire_report(1))
        report = await anext(client)
"""

import asyncio
import heapq
from collections.abc import AsyncIterator, Callable, Iterable
from itertools import count
from types import TracebackType
from typing import Self

import grpc
import grpc.aio

import loadmonitor_proto as wire
from loadmonitor_proto.service import add_load_monitor_servicer
from loadmonitor_router.interfaces import TimerHandle

_NS_PER_MS = 1_000_000


class ManualClock:
    """A Clock that stands still until it is told to advance."""

    def __init__(self, *, monotonic_ms: int = 1_000_000, unix_ms: int = 1_750_000_000_000) -> None:
        """Start at the given times."""
        self._monotonic_ns = monotonic_ms * _NS_PER_MS
        self._wall_ms = unix_ms - monotonic_ms
        self._timers: list[tuple[int, int, _ManualTimer]] = []
        self._order = count()

    def monotonic_ns(self) -> int:
        """Return the monotonic time."""
        return self._monotonic_ns

    def unix_ms(self) -> int:
        """Return the wall-clock time."""
        return self._wall_ms + self._monotonic_ns // _NS_PER_MS

    def call_at(self, when_ns: int, callback: Callable[[], None]) -> TimerHandle:
        """Run `callback` while the clock advances to `when_ns`, or soon when that is past."""
        if when_ns <= self._monotonic_ns:
            return asyncio.get_running_loop().call_soon(callback)
        timer = _ManualTimer(callback)
        heapq.heappush(self._timers, (when_ns, next(self._order), timer))
        return timer

    def advance(self, milliseconds: float) -> None:
        """Move both clocks on, running each timer that comes due at its time."""
        end_ns = self._monotonic_ns + int(milliseconds * _NS_PER_MS)
        while self._timers and self._timers[0][0] <= end_ns:
            self._monotonic_ns, _, timer = heapq.heappop(self._timers)
            timer.run()
        self._monotonic_ns = end_ns

    def step_wall_clock(self, milliseconds: int) -> None:
        """Move the wall clock alone, forwards or backwards."""
        self._wall_ms += milliseconds

    async def timer_within(self, milliseconds: float) -> float:
        """Wait until a timer is set that comes due within so many milliseconds; return how many it has left."""
        while True:
            armed = [when_ns - self._monotonic_ns for when_ns, _, timer in self._timers if timer.armed]
            if armed and min(armed) <= milliseconds * _NS_PER_MS:
                return min(armed) / _NS_PER_MS
            await asyncio.sleep(0)


class _ManualTimer:
    def __init__(self, callback: Callable[[], None]) -> None:
        self._callback = callback
        self.armed = True

    def cancel(self) -> None:
        self.armed = False

    def run(self) -> None:
        if self.armed:
            self.armed = False
            self._callback()


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
        self._frames: asyncio.Queue[wire.RouterFrame | None] = asyncio.Queue()
        self._over = asyncio.Event()
        self._status: tuple[grpc.StatusCode, str] | None = None
        self.register: wire.RegisterRequest = wire.RegisterRequest()

    async def receive(self) -> wire.RouterFrame | None:
        """Wait for the Router's next frame; None once it says no more or is gone."""
        return await self._frames.get()

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
        self.end()

    def end(self, code: grpc.StatusCode = grpc.StatusCode.OK, details: str = "") -> None:
        """End the stream with a gRPC status."""
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
                    self.end()
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


def wire_rank(dp_rank: int = 0, **fields: float) -> wire.RankLoad:
    """Return a rank that breaks no rule; `fields` change it."""
    rank = wire.RankLoad(
        dp_rank=dp_rank,
        snapshot_time_unix_ms=1_750_000_000_000,
        num_running_reqs=12,
        num_waiting_reqs=3,
        num_waiting_uncached_tokens=4_096,
        num_used_tokens=50_000,
        num_total_tokens=54_096,
        max_total_num_tokens=100_000,
        max_running_requests=256,
        token_usage=0.5,
        gen_throughput=800.0,
        cache_hit_rate=0.25,
        utilization=0.5,
    )
    for name, value in fields.items():
        setattr(rank, name, value)
    return rank


def wire_report(
    sequence_id: int,
    *,
    ranks: Iterable[wire.RankLoad] | None = None,
    status: wire.ReportStatus.ValueType = wire.ReportStatus.REPORT_STATUS_HEALTHY,
    last_error: str | None = None,
    source_instance_id: str = "a",
    report_time_unix_ms: int = 1_750_000_000_020,
    max_snapshot_age_ms: int | None = 20,
) -> wire.LoadReport:
    """Return a report that breaks no rule, of one rank unless told otherwise."""
    return wire.LoadReport(
        source_instance_id=source_instance_id,
        sequence_id=sequence_id,
        report_time_unix_ms=report_time_unix_ms,
        worker=wire.Worker(worker_addr="http://127.0.0.1:30000", worker_type=wire.WorkerType.WORKER_TYPE_REGULAR),
        status=status,
        last_error=last_error,
        ranks=[wire_rank()] if ranks is None else ranks,
        max_snapshot_age_ms=max_snapshot_age_ms,
    )
