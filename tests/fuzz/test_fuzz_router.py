"""The Router's client over real gRPC, and its decoder, whatever a Worker sends: no error but ours, and good reports get through."""

import asyncio
import logging
import math
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import fields
from functools import partial
from typing import Self

import grpc.aio
import pytest
from fuzz_frames import ACKNOWLEDGEMENTS, WORKER_FRAMES, WORKER_STREAMS, Stream
from fuzz_noise import descriptors, eventually, tasks
from fuzz_run import fuzz
from google.protobuf.message import DecodeError
from hypothesis import given, settings
from hypothesis import strategies as st

from loadmonitor_proto import RouterFrame, WorkerFrame
from loadmonitor_proto.service import add_load_monitor_servicer
from loadmonitor_router import (
    ConnectionState,
    Freshness,
    InvalidReportError,
    MonitorClient,
    RankLoad,
    Receipt,
    ReportStatus,
    WorkerReport,
    aggregate_ranks,
    assess,
    decode_report,
)
from loadmonitor_router._stream import StreamSession
from loadmonitor_router.pressure import PrefillRates
from loadmonitor_router.testing import ManualClock, wire_report

WHO = "the router"
DECODER = "the router's decoder"
NOW_NS = 10**15
LIVES = st.tuples(WORKER_STREAMS, ACKNOWLEDGEMENTS, st.sampled_from([None, 1, 3]))
_STATUS = {
    "unavailable": (grpc.StatusCode.UNAVAILABLE, "gone"),
    "internal": (grpc.StatusCode.INTERNAL, ""),
    "odd": (grpc.StatusCode.UNIMPLEMENTED, "\0 é too many pings %s {}"),
}


class FuzzWorker:
    """Says on each stream what is next in `scripts`, once the Router has registered, and ends it."""

    def __init__(self) -> None:
        self.scripts: asyncio.Queue[Stream] = asyncio.Queue()
        self._server = grpc.aio.server(options=[("grpc.so_reuseport", 0)])
        add_load_monitor_servicer(self, self._server)
        self.address = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"

    async def __aenter__(self) -> Self:
        await self._server.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._server.stop(None)

    async def Monitor(  # noqa: N802
        self,
        request_iterator: AsyncIterator[RouterFrame],
        context: "grpc.aio.ServicerContext[RouterFrame, WorkerFrame | bytes]",
    ) -> None:
        script = await self.scripts.get()
        heard = asyncio.Event()
        reading = asyncio.create_task(self._read(request_iterator, heard))
        await heard.wait()
        try:
            for frame in script.frames:
                await context.write(frame)
        except grpc.aio.BaseError:
            return  # the Router has had enough
        if script.ending == "stay":
            await reading
        elif script.ending in _STATUS:
            await context.abort(*_STATUS[script.ending])

    @staticmethod
    async def _read(request_iterator: AsyncIterator[RouterFrame], heard: asyncio.Event) -> None:
        try:
            async for _ in request_iterator:
                heard.set()
        except grpc.aio.BaseError:
            pass
        heard.set()


class CountingClient(MonitorClient):
    """A client that counts the frames it takes in, and keeps its reports."""

    def __init__(self, address: str, executed: Counter[str], clock: ManualClock, window: int | None) -> None:
        super().__init__(address, router_id="r", max_unacked_reports=window, clock=clock, on_report=self._keep_report)
        self._executed = executed
        self.reports: list[WorkerReport] = []

    def _take(self, session: StreamSession, frame: WorkerFrame | None) -> None:
        self._executed[WHO] += 1
        super()._take(session, frame)

    def _keep_report(self, report: WorkerReport) -> None:
        self.reports.append(report)


class Bench:
    """A worker that follows scripts, and clients that listen to it."""

    def __init__(self, worker: FuzzWorker, executed: Counter[str]) -> None:
        self._worker = worker
        self._executed = executed
        self._clock = ManualClock()
        self._tasks = self._descriptors = 0
        self._instances = 0

    async def play(self, life: tuple[list[Stream], bytes, int | None]) -> None:
        """Let a client hear what was drawn, stream after stream, and then a good report; nothing may be left of it."""
        streams, acknowledgement, window = life
        async with self._client(window) as client:
            for number, stream in enumerate(streams):
                await self._hear(client, stream)
                await eventually(partial(self._lost, client, number), lambda: client.connection)
            for report in client.reports:
                check(report)
            failed = client.connection.state is ConnectionState.FAILED
            if not failed:
                await self._hear_a_good_report(client, acknowledgement)
        if failed:
            async with self._client(window) as client:
                await self._hear_a_good_report(client, acknowledgement)
        await eventually(lambda: len(tasks()) <= self._tasks, tasks)
        self._descriptors = self._descriptors or descriptors()
        await eventually(lambda: descriptors() <= self._descriptors, lambda: f"{descriptors()} descriptors")

    def _client(self, window: int | None) -> CountingClient:
        return CountingClient(self._worker.address, self._executed, self._clock, window)

    async def _hear(self, client: MonitorClient, stream: Stream) -> None:
        """Let the time pass until the client dials, and let it hear a stream."""
        if client.connection.state is ConnectionState.FAILED:
            return
        self._worker.scripts.put_nowait(stream)
        retry_at_ns = client.connection.retry_at_ns
        if retry_at_ns is not None:
            self._clock.move((retry_at_ns - self._clock.monotonic_ns()) / 1e6 + 1)

    @staticmethod
    def _lost(client: MonitorClient, number: int) -> bool:
        connection = client.connection
        backs_off = connection.state is ConnectionState.BACKING_OFF and connection.reconnects == number
        return backs_off or connection.state is ConnectionState.FAILED

    async def _hear_a_good_report(self, client: CountingClient, acknowledgement: bytes) -> None:
        self._instances += 1
        instance = f"good {self._instances}"
        report = WorkerFrame(report=wire_report(1, source_instance_id=instance)).SerializeToString()
        await self._hear(client, Stream([acknowledgement, report], "stay"))
        await eventually(
            lambda: bool(client.reports) and client.reports[-1].source_instance_id == instance,
            lambda: client.connection,
        )


def check(report: WorkerReport) -> None:
    """Hold a report that a client handed over against what it promises."""
    assert report.source_instance_id.strip()
    assert bool(report.ranks) == (report.status is not ReportStatus.UNREACHABLE)
    assert [rank.dp_rank for rank in report.ranks] == sorted({rank.dp_rank for rank in report.ranks})
    for rank in report.ranks:
        for field in fields(RankLoad):
            value = getattr(rank, field.name)
            assert value is None or (math.isfinite(value) and value >= 0), field.name
    pressures = PrefillRates().observe(report)
    together = aggregate_ranks(report.ranks, pressures)
    for field in fields(together) if together is not None else ():
        value = getattr(together, field.name)
        assert value is None or (math.isfinite(value) and value >= 0), field.name
    verdict = assess(report, NOW_NS)
    assert verdict.age_ms is None or math.isfinite(verdict.age_ms)
    assert (verdict.reason is None) == (verdict.freshness is Freshness.FRESH)
    assert (verdict.freshness is Freshness.FRESH) <= (report.status is ReportStatus.HEALTHY)


def refused(record: logging.LogRecord) -> bool:
    """Tell whether a client says that a Worker refuses it for good: some of the frames do say so."""
    return record.name == "loadmonitor_router.client" and "refuses this router" in record.getMessage()


async def start(executed: Counter[str], stack: AsyncExitStack) -> Bench:
    """Start everything; leaving the stack closes it."""
    return Bench(await stack.enter_async_context(FuzzWorker()), executed)


def decode(executed: Counter[str], *, examples: int) -> None:
    """Decode so many frames."""

    @settings(max_examples=examples)
    @given(WORKER_FRAMES)
    def play(data: bytes) -> None:
        executed[DECODER] += 1
        try:
            frame = WorkerFrame.FromString(data)
            report = decode_report(frame.report, Receipt(monotonic_ns=NOW_NS, delay_ms=0.5))
        except (DecodeError, InvalidReportError):
            return
        check(report)

    play()


def test_whatever_a_worker_sends_the_router_goes_on_and_takes_the_next_good_report(executed: Counter[str]) -> None:
    fuzz(partial(start, executed), LIVES, lambda: executed[WHO], examples=60, expected=refused)


def test_a_frame_decodes_to_a_report_that_keeps_its_promises_or_to_an_error_of_ours(executed: Counter[str]) -> None:
    decode(executed, examples=1_000)


@pytest.mark.long
@pytest.mark.timeout(3_600)
def test_whatever_workers_send_in_a_hundred_thousand_frames(executed: Counter[str]) -> None:
    fuzz(partial(start, executed), LIVES, lambda: executed[WHO], examples=2_000, least=100_000, expected=refused)


@pytest.mark.long
@pytest.mark.timeout(3_600)
def test_twenty_thousand_frames_decode_to_reports_or_to_errors_of_ours(executed: Counter[str]) -> None:
    decode(executed, examples=20_000)
