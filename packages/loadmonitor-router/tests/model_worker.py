"""A Worker that keeps every clause of the stream in the plainest way, so that a test can break one at a time."""

import asyncio
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from types import TracebackType
from typing import Self

import grpc
import grpc.aio
from google.protobuf.message import DecodeError

import loadmonitor_proto as wire
from loadmonitor_proto.channel import server_options
from loadmonitor_proto.service import add_load_monitor_servicer
from loadmonitor_router.conformance import ClauseResult, check_worker
from loadmonitor_router.testing import wire_rank

Context = grpc.aio.ServicerContext[wire.RouterFrame, wire.WorkerFrame | bytes]

READING_SECONDS = 0.004
"""How long a look at the engine takes; who comes due meanwhile shares the report."""


def unix_ms() -> int:
    return time.time_ns() // 1_000_000


class ModelSession:
    """One stream. Times are seconds of the monotonic clock."""

    def __init__(self, worker: "ModelWorker") -> None:
        self.worker = worker
        self.router_id: str | None = None
        self.interval = self.lease = self.anchor = self.deadline = self.lease_until = 0.0
        self.window: int | None = None
        self.unacked: list[int] = []
        self.newest_sent = 0
        self.frames = 0
        self.control: list[wire.WorkerFrame] = []
        self.waiting: list[wire.LoadReport] = []
        self.over = False
        self.status = grpc.StatusCode.OK
        self.wake = asyncio.Event()

    # What a Router may send

    def on_frame(self, frame: wire.RouterFrame, now: float) -> None:
        self.frames += 1
        payload = frame.WhichOneof("payload")
        if self.frames > self.worker.most_frames:
            self.fail(self.worker.exhausted)
        elif payload is None:
            self.on_empty()
        elif payload == "register":
            self.on_register(frame.register, now)
        elif self.router_id is None:
            self.on_wrong_first_frame()
        elif payload == "update_config":
            self.on_update(frame.update_config, now)
        elif payload == "keep_alive":
            self.on_keep_alive(frame.keep_alive, now)
        else:
            self.on_stop()

    def on_empty(self) -> None:
        self.fail("INVALID_ARGUMENT")

    def on_garbage(self) -> None:
        self.fail("INVALID_ARGUMENT")

    def on_wrong_first_frame(self) -> None:
        self.fail("INVALID_FIRST_FRAME")

    def on_stop(self) -> None:
        self.end()

    def on_register(self, request: wire.RegisterRequest, now: float) -> None:
        if self.is_bad(request) or self.router_id not in {None, request.router_id}:
            self.fail("INVALID_ARGUMENT")
        elif self.router_id is not None:
            self.on_repeated_register(request, now)
        else:
            older = self.worker.sessions.get(request.router_id)
            if older is None and len(self.worker.sessions) >= self.worker.most_sessions:
                self.on_full()
                return
            if older is not None:
                self.replace(older)
            self.open(request, now)

    def on_full(self) -> None:
        self.fail(self.worker.exhausted)

    def replace(self, older: "ModelSession") -> None:
        older.fail("SESSION_REPLACED")

    def open(self, request: wire.RegisterRequest, now: float) -> None:
        self.router_id = request.router_id
        self.window = request.max_unacked_reports if request.HasField("max_unacked_reports") else None
        self.interval = self.worker.granted_interval_ms(request.report_interval_ms) / 1_000
        self.lease = self.worker.granted_lease_ms(request.lease_ttl_ms) / 1_000
        self.anchor = self.worker.anchor(now)
        self.deadline = now
        self.renew(now)
        self.worker.sessions[request.router_id] = self
        self.control.append(wire.WorkerFrame(registered=self.acknowledgement(request)))
        self.notify()

    def acknowledgement(self, request: wire.RegisterRequest) -> wire.RegisterResponse:
        response = self.worker.first_version_acknowledgement(request)
        response.report_interval_ms = self.worker.granted_interval_ms(request.report_interval_ms)
        response.stale_after_ms = 3_000
        response.source_instance_id = self.worker.instance
        response.min_report_interval_ms = self.worker.least_interval_ms
        response.max_lease_ttl_ms = self.worker.longest_lease_ms
        return response

    def is_bad(self, request: wire.RegisterRequest) -> bool:
        return (
            not request.router_id.strip()
            or len(request.router_id) > 256
            or request.report_interval_ms <= 0
            or request.lease_ttl_ms <= 0
            or (request.HasField("max_unacked_reports") and request.max_unacked_reports == 0)
        )

    def on_repeated_register(self, request: wire.RegisterRequest, now: float) -> None:
        self.change(request.report_interval_ms, request.lease_ttl_ms, now)

    def on_update(self, request: wire.UpdateConfigRequest, now: float) -> None:
        interval_ms = request.report_interval_ms if request.HasField("report_interval_ms") else None
        lease_ms = request.lease_ttl_ms if request.HasField("lease_ttl_ms") else None
        if (interval_ms is not None and interval_ms <= 0) or (lease_ms is not None and lease_ms <= 0):
            self.fail("INVALID_ARGUMENT")
        else:
            self.change(interval_ms, lease_ms, now)

    def change(self, interval_ms: int | None, lease_ms: int | None, now: float) -> None:
        if lease_ms is not None:
            self.lease = self.worker.granted_lease_ms(lease_ms) / 1_000
        if interval_ms is not None:
            self.change_interval(self.worker.granted_interval_ms(interval_ms) / 1_000, now)
        self.renew(now)
        self.notify()

    def change_interval(self, interval: float, now: float) -> None:
        if interval != self.interval:
            self.interval = interval
            self.skip(now)

    def on_keep_alive(self, frame: wire.KeepAlive, now: float) -> None:
        if frame.HasField("acked_sequence_id"):
            if frame.acked_sequence_id > self.newest_sent:
                self.on_unsent_acknowledged()
                return
            self.acknowledged(frame.acked_sequence_id)
        self.renew(now)

    def on_unsent_acknowledged(self) -> None:
        self.fail("INVALID_ARGUMENT")

    def acknowledged(self, sequence_id: int) -> None:
        self.unacked = [number for number in self.unacked if number > sequence_id]

    # Lease, deadlines, reports

    def renew(self, now: float) -> None:
        self.lease_until = now + self.lease
        self.notify()

    def expire(self) -> None:
        self.fail("LEASE_EXPIRED")

    def is_due(self, now: float) -> bool:
        return self.deadline <= now < self.lease_until

    def skip(self, now: float) -> None:
        self.deadline = now + self.interval - (now - self.anchor) % self.interval

    @property
    def has_credit(self) -> bool:
        return self.window is None or len(self.unacked) < self.window

    def fire(self, report: wire.LoadReport, now: float) -> None:
        if self.has_credit:
            self.offer(report)
        self.skip(now)

    def offer(self, report: wire.LoadReport) -> None:
        self.waiting = [report]
        self.notify()

    # The stream

    def fail(self, code: str) -> None:
        self.control.append(wire.WorkerFrame(error=wire.StreamError(code=code, message="a model's word")))
        self.end()

    def end(self) -> None:
        self.over = True
        self.waiting.clear()
        self.worker.forget(self)
        self.notify()

    def notify(self) -> None:
        self.wake.set()
        self.worker.changed.set()

    def next_frame(self) -> wire.WorkerFrame | None:
        if self.control:
            return self.control.pop(0)
        if not self.waiting:
            return None
        report = self.waiting.pop(0)
        self.newest_sent = report.sequence_id
        self.unacked.append(report.sequence_id)
        return wire.WorkerFrame(report=report)

    async def serve(self, frames: AsyncIterator[wire.RouterFrame], context: Context) -> None:
        reading = asyncio.create_task(self._read(frames))
        self.worker.tasks.add(reading)
        reading.add_done_callback(self.worker.tasks.discard)
        with suppress(grpc.aio.BaseError):
            while True:
                self.wake.clear()
                while (frame := self.next_frame()) is not None:
                    await context.write(frame)
                if self.over:
                    break
                await self.wake.wait()
        self.worker.forget(self)
        await self.close(context)

    async def close(self, context: Context) -> None:
        """End the stream after the last frame."""

    async def _read(self, frames: AsyncIterator[wire.RouterFrame]) -> None:
        with suppress(grpc.aio.BaseError):
            try:
                async for frame in frames:
                    if not self.over:
                        self.on_frame(frame, time.monotonic())
            except DecodeError:
                self.on_garbage()
                return
        if not self.over:
            self.end()


class FirstVersionSession(ModelSession):
    """A stream of a Worker that knows none of the extensions."""

    def acknowledgement(self, request: wire.RegisterRequest) -> wire.RegisterResponse:
        return self.worker.first_version_acknowledgement(request)

    def open(self, request: wire.RegisterRequest, now: float) -> None:
        super().open(request, now)
        self.window = None


class ModelWorker:
    """All streams, and the one loop that fires."""

    session_type: type[ModelSession] = ModelSession
    least_interval_ms = 10
    longest_lease_ms = 120_000
    most_sessions = 16
    most_frames = 400
    exhausted = "RESOURCE_EXHAUSTED"
    stamp_age_ms = 0
    longest_frame = 65_536

    def __init__(self) -> None:
        self.sessions: dict[str, ModelSession] = {}
        self.streams: set[ModelSession] = set()
        self.tasks: set[asyncio.Task[None]] = set()
        self.changed = asyncio.Event()
        self.instance = secrets.token_hex(4)
        self.sequence_id = 0

    async def __aenter__(self) -> Self:
        options = server_options({"grpc.max_receive_message_length": self.longest_frame})
        self.server = grpc.aio.server(options=tuple(options.items()))
        add_load_monitor_servicer(self, self.server)
        self.address = f"127.0.0.1:{self.server.add_insecure_port('127.0.0.1:0')}"
        await self.server.start()
        self._firing = asyncio.create_task(self._fire_forever())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._firing.cancel()
        await asyncio.wait({self._firing})
        for stream in list(self.streams):
            stream.end()
        await self.server.stop(None)
        if self.tasks:
            await asyncio.wait(self.tasks)

    async def shut_down(self) -> None:
        for session in list(self.sessions.values()):
            session.fail("SHUTTING_DOWN")

    async def Monitor(self, request_iterator: AsyncIterator[wire.RouterFrame], context: Context) -> None:  # noqa: N802
        session = self.session_type(self)
        self.streams.add(session)
        try:
            await session.serve(request_iterator, context)
        finally:
            self.streams.discard(session)

    def forget(self, session: ModelSession) -> None:
        if session.router_id is not None and self.sessions.get(session.router_id) is session:
            del self.sessions[session.router_id]

    def first_version_acknowledgement(self, request: wire.RegisterRequest) -> wire.RegisterResponse:
        lease_ms = self.granted_lease_ms(request.lease_ttl_ms)
        return wire.RegisterResponse(lease_ttl_ms=lease_ms, renew_after_ms=max(1, lease_ms // 3))

    def granted_interval_ms(self, asked_ms: int) -> int:
        return max(asked_ms, self.least_interval_ms)

    def granted_lease_ms(self, asked_ms: int) -> int:
        return min(max(2, asked_ms), self.longest_lease_ms)

    def anchor(self, now: float) -> float:
        return now

    def ranks(self, now_ms: int) -> list[wire.RankLoad]:
        stamp = now_ms - self.stamp_age_ms
        return [
            wire_rank(0, snapshot_time_unix_ms=stamp),
            wire_rank(1, snapshot_time_unix_ms=stamp, num_total_tokens=None, cache_hit_rate=None),
        ]

    def build(self) -> wire.LoadReport:
        self.sequence_id += 1
        now_ms = unix_ms()
        report = wire.LoadReport(
            source_instance_id=self.instance,
            sequence_id=self.sequence_id,
            report_time_unix_ms=now_ms,
            status=wire.ReportStatus.REPORT_STATUS_HEALTHY,
            ranks=self.ranks(now_ms),
            max_snapshot_age_ms=self.stamp_age_ms,
            worker_state=wire.WorkerState.WORKER_STATE_SERVING,
        )
        if self.stamp_age_ms > 3_000:
            report.status = wire.ReportStatus.REPORT_STATUS_STALE
            report.last_error = "ranks 0, 1 stale"
        return report

    def deliver(self, due: list[ModelSession], now: float) -> None:
        report = self.build()
        for session in due:
            session.fire(report, now)

    async def _fire_forever(self) -> None:
        while True:
            self.changed.clear()
            now = time.monotonic()
            moments = [min(session.deadline, session.lease_until) for session in self.sessions.values()]
            with suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, min(moments) - now) if moments else None):
                    await self.changed.wait()
            now = time.monotonic()
            for session in list(self.sessions.values()):
                if now >= session.lease_until:
                    session.expire()
            if any(session.is_due(now) for session in self.sessions.values()):
                await asyncio.sleep(READING_SECONDS)
                now = time.monotonic()
                self.deliver([session for session in self.sessions.values() if session.is_due(now)], now)


class FirstVersionWorker(ModelWorker):
    """A Worker that was written before there were extensions: no limits, no acknowledgements, no ages."""

    session_type = FirstVersionSession
    least_interval_ms = 1
    longest_lease_ms = 2**62
    most_sessions = most_frames = 1_000_000
    longest_frame = 4_194_304

    def granted_lease_ms(self, asked_ms: int) -> int:
        return asked_ms

    def build(self) -> wire.LoadReport:
        report = super().build()
        report.ClearField("max_snapshot_age_ms")
        report.ClearField("worker_state")
        return report


class AlignedWorker(ModelWorker):
    """A Worker whose sessions share their deadlines."""

    def anchor(self, now: float) -> float:  # noqa: ARG002 - the model's signature
        return 0.0


class StaleWorker(ModelWorker):
    """A Worker beside an engine that stands still."""

    stamp_age_ms = 60_000


class UnreachableWorker(ModelWorker):
    """A Worker beside an engine that is gone."""

    def ranks(self, now_ms: int) -> list[wire.RankLoad]:  # noqa: ARG002 - the model's signature
        return []

    def build(self) -> wire.LoadReport:
        report = super().build()
        report.status = wire.ReportStatus.REPORT_STATUS_UNREACHABLE
        report.last_error = "gone"
        report.ClearField("max_snapshot_age_ms")
        return report


class SmallWorker(ModelWorker):
    """A Worker that serves three routers at most, and not often."""

    least_interval_ms = 110
    most_sessions = 3


async def judged(worker: ModelWorker, *clauses: str, timeout_seconds: float = 10.0) -> dict[str, ClauseResult]:
    """Return what the conformance kit says of a Worker."""
    async with worker:
        found = check_worker(worker.address, clauses, timeout_seconds=timeout_seconds, shut_down=worker.shut_down)
        return {result.clause: result async for result in found}
