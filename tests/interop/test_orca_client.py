"""ORCA reports of a reporter, asked for and read with the messages that gRPC publishes, in the reporter's own process.

Each environment holds one generation of xds-protos, with the protobuf that it insists on.
"""

import sys

import pytest
from isolated_reporter import output_beside

CLIENTS = [
    pytest.param("1.85.0", id="protobuf 7"),
    pytest.param("1.71.2" if sys.version_info < (3, 14) else "1.76.0", id="protobuf 5 or 6"),
]
PROGRAM = """
import asyncio, sys
from importlib.metadata import version
import grpc.aio
if sys.argv[1] == "client first":
    from xds.service.orca.v3 import orca_pb2
from loadmonitor_worker import ReporterConfig, WorkerState, start_load_reporter
from loadmonitor_worker.sources import SyntheticSource

async def main():
    global orca_pb2
    config = ReporterConfig(port=0, orca=True, orca_min_interval_ms=10)
    reporter = await start_load_reporter(config, SyntheticSource(2))
    from xds.data.orca.v3 import orca_load_report_pb2
    from xds.service.orca.v3 import orca_pb2
    method = orca_pb2.DESCRIPTOR.services_by_name["OpenRcaService"].methods[0]
    request = orca_pb2.OrcaLoadReportRequest()
    request.report_interval.FromMilliseconds(20)
    request.request_cost_names.append("tokens")
    async with reporter, grpc.aio.insecure_channel(reporter.address) as channel:
        stream = channel.unary_stream(
            f"/{method.containing_service.full_name}/{method.name}",
            request_serializer=orca_pb2.OrcaLoadReportRequest.SerializeToString,
            response_deserializer=orca_load_report_pb2.OrcaLoadReport.FromString,
        )(request, timeout=20)
        reports = [await stream.read() for _ in range(3)]
        for number, report in enumerate(reports, 1):
            assert report.named_metrics["sequence_id"] == number, report
            assert report.named_metrics["status"] == 1, report
            assert 0.01 <= report.application_utilization < 100, report
            assert 0 < report.mem_utilization <= 1, report
            assert report.rps_fractional == 1, report
            assert {"kv_cache", "request_slots", "rank.0.kv_cache", "rank.1.kv_cache"} == set(report.utilization), report
        reporter.set_worker_state(WorkerState.PAUSED)
        while "worker_state" not in report.named_metrics:
            report = await stream.read()
        assert report.application_utilization == 100, report
        # All that was sent is in fields that the published messages have.
        before = report.ByteSize()
        report.DiscardUnknownFields()
        assert report.ByteSize() == before
    print(version("xds-protos"))

asyncio.run(main())
"""


@pytest.mark.parametrize("order", ["client first", "reporter first"])
@pytest.mark.parametrize("release", CLIENTS)
def test_the_published_orca_messages_read_reports_beside_the_reporters_own_copy(release: str, order: str) -> None:
    assert output_beside(f"xds-protos=={release}", PROGRAM, order).split() == [release]
