"""The Worker's service over real gRPC, whatever a Router sends: it answers by the contract, and serves the others on."""

import asyncio
from collections import Counter
from contextlib import AsyncExitStack
from functools import partial
from typing import Any, Self

import grpc.aio
import pytest
from fuzz_frames import OVERSIZED, ROUTER_STREAMS, Stream
from fuzz_noise import bounded, descriptors, eventually, tasks
from fuzz_run import fuzz

from loadmonitor_proto import RouterFrame, StreamErrorCode, WorkerFrame
from loadmonitor_proto.service import MONITOR_METHOD
from loadmonitor_router import MonitorClient
from loadmonitor_worker import LoadReporter, ReporterConfig, start_load_reporter
from loadmonitor_worker.sources import SyntheticSource

WHO = "the worker"
_WRITE_FAILED = "Internal error from Core"  # what gRPC's client makes of a status that came while it was writing
MIN_INTERVAL_MS, MAX_LEASE_MS = 10, 60_000


class Bench:
    """A reporter, a healthy router that listens to it all the while, and a connection for frames of any kind."""

    def __init__(self, reporter: LoadReporter, executed: Counter[str]) -> None:
        self._reporter = reporter
        self._executed = executed
        self._monitor = reporter._server._monitor
        self._table = self._monitor._table
        self._count_frames()
        self.healthy = MonitorClient(reporter.address, router_id="healthy", report_interval_ms=2 * MIN_INTERVAL_MS)
        self._channel = grpc.aio.insecure_channel(reporter.address, options=[("grpc.use_local_subchannel_pool", 1)])

    def _count_frames(self) -> None:
        """Count the frames that a living session takes; those of the healthy router aside."""
        act = self._monitor.frame

        def counted(session: Any, frame: RouterFrame, now_ns: int) -> None:
            if not session.ended and session.router_id != "healthy":
                self._executed[WHO] += 1
            act(session, frame, now_ns)

        self._monitor.frame = counted  # type: ignore[method-assign]

    async def __aenter__(self) -> Self:
        await self.healthy.__aenter__()
        await bounded(anext(self.healthy), "the first report")
        self._tasks = len(tasks())
        await self._channel.channel_ready()
        self._descriptors = descriptors()
        return self

    async def __aexit__(self, *_: object) -> None:
        assert descriptors() == self._descriptors
        await self.healthy.close()
        await self._channel.close()

    async def play(self, streams: list[Stream]) -> None:
        """Let routers say what was drawn, all at once; then everything must be as it was."""
        await bounded(asyncio.gather(*map(self._stream, streams)), "a stream's end")
        await bounded(anext(self.healthy), "the healthy router's next report")
        await eventually(lambda: len(self._table.open_streams) == 1, lambda: f"{len(self._table.open_streams)} streams")
        await eventually(lambda: len(tasks()) <= self._tasks, tasks)
        assert len(self._table) == 1
        assert self.healthy.connection.reconnects == 0

    async def _stream(self, stream: Stream) -> None:
        call: grpc.aio.StreamStreamCall[bytes, bytes] = self._channel.stream_stream(MONITOR_METHOD)()
        listening = asyncio.create_task(self._listen(call))
        try:
            for frame in [*stream.frames, *([OVERSIZED] if stream.ending == "oversize" else [])]:
                await call.write(frame)
            if stream.ending == "cancel":
                call.cancel()
            else:
                await call.done_writing()
        except (grpc.aio.AioRpcError, asyncio.InvalidStateError, asyncio.CancelledError):
            pass  # the worker has ended the stream
        answers, status = await listening
        check(answers)
        allowed = {"cancel": grpc.StatusCode.CANCELLED, "oversize": grpc.StatusCode.RESOURCE_EXHAUSTED}
        assert status in {grpc.StatusCode.OK, allowed.get(stream.ending)} or await call.details() == _WRITE_FAILED, (
            status
        )
        self._executed[WHO] += any("is not a RouterFrame" in answer.error.message for answer in answers)

    @staticmethod
    async def _listen(call: "grpc.aio.StreamStreamCall[bytes, bytes]") -> tuple[list[WorkerFrame], grpc.StatusCode]:
        answers = []
        try:
            async for answer in call:
                answers.append(WorkerFrame.FromString(answer))  # noqa: PERF401 - a call that is cancelled keeps them
        except (grpc.aio.AioRpcError, asyncio.CancelledError):
            pass
        return answers, await call.code()


def check(answers: list[WorkerFrame]) -> None:
    """Hold what a worker sent on one stream against the contract."""
    kinds = [answer.WhichOneof("payload") for answer in answers]
    assert None not in kinds
    assert "registered" not in kinds[1:]
    assert "error" not in kinds[:-1]
    assert not kinds or kinds[0] in {"registered", "error"}
    if kinds[:1] == ["registered"]:
        grant = answers[0].registered
        assert 0 < grant.renew_after_ms < grant.lease_ttl_ms <= MAX_LEASE_MS
        assert grant.report_interval_ms >= MIN_INTERVAL_MS
    if kinds[-1:] == ["error"]:
        assert answers[-1].error.code in set(StreamErrorCode)
    sequence_ids = [answer.report.sequence_id for answer in answers if answer.HasField("report")]
    assert sequence_ids == sorted(set(sequence_ids))


async def start(executed: Counter[str], stack: AsyncExitStack) -> Bench:
    """Start everything; leaving the stack closes it."""
    config = ReporterConfig(
        port=0, min_report_interval_ms=MIN_INTERVAL_MS, max_lease_ttl_ms=MAX_LEASE_MS, max_frames_per_second=70
    )
    reporter = await start_load_reporter(config, SyntheticSource(2))
    assert reporter is not None
    return await stack.enter_async_context(Bench(await stack.enter_async_context(reporter), executed))


def test_whatever_a_router_sends_the_worker_answers_by_the_contract(executed: Counter[str]) -> None:
    fuzz(partial(start, executed), ROUTER_STREAMS, lambda: executed[WHO], examples=120)


@pytest.mark.long
@pytest.mark.timeout(3_600)
def test_whatever_routers_send_in_a_hundred_thousand_frames(executed: Counter[str]) -> None:
    fuzz(partial(start, executed), ROUTER_STREAMS, lambda: executed[WHO], examples=2_000, least=100_000)
