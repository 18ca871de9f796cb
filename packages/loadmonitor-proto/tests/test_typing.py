"""What a type checker knows about the public names; these tests prove most while being checked, the rest when run."""

from collections.abc import AsyncIterator
from typing import assert_type

import grpc.aio

from loadmonitor_proto import (
    LoadReport,
    RankLoad,
    ReportStatus,
    RouterFrame,
    StreamErrorCode,
    WorkerFrame,
    is_terminal,
)
from loadmonitor_proto.service import LoadMonitorServicer, LoadMonitorStub


class Silent:
    """A servicer by shape alone."""

    async def Monitor(  # noqa: N802
        self,
        request_iterator: AsyncIterator[RouterFrame],
        context: grpc.aio.ServicerContext[RouterFrame, WorkerFrame | bytes],
    ) -> None:
        del request_iterator, context


class Backwards:
    """The frames the wrong way round."""

    async def Monitor(  # noqa: N802
        self,
        request_iterator: AsyncIterator[WorkerFrame],
        context: grpc.aio.ServicerContext[RouterFrame, WorkerFrame | bytes],
    ) -> None:
        del request_iterator, context


async def test_the_stub_yields_a_typed_call() -> None:
    async with grpc.aio.insecure_channel("127.0.0.1:1") as channel:
        call = LoadMonitorStub(channel).Monitor()
        assert_type(call, grpc.aio.StreamStreamCall[RouterFrame, WorkerFrame | None])
        assert_type(call.__aiter__(), AsyncIterator[WorkerFrame | None])
        call.cancel()


def test_a_servicer_is_recognised_by_its_shape() -> None:
    servicer: LoadMonitorServicer = Silent()
    wrong: LoadMonitorServicer = Backwards()  # type: ignore[assignment]
    assert servicer is not wrong


def test_fields_enums_and_oneofs_are_typed() -> None:
    report = LoadReport(status=ReportStatus.REPORT_STATUS_HEALTHY, ranks=[RankLoad(dp_rank=0)])
    assert_type(report.status, ReportStatus.ValueType)
    assert_type(report.ranks[0], RankLoad)
    assert_type(report.sequence_id, int)
    kind = WorkerFrame(report=report).WhichOneof("payload")
    assert kind == "report"
    assert_type(is_terminal(StreamErrorCode.INVALID_ARGUMENT), bool)
