"""`grpc.health.v1` of a reporter, asked by the client that everybody has, in the reporter's own process.

Each environment holds one generation of grpcio-health-checking, with the protobuf that it insists on.
"""

import sys

import pytest
from isolated_reporter import output_beside

CLIENTS = [
    pytest.param("1.85.1", id="protobuf 7"),
    pytest.param("1.71.2" if sys.version_info < (3, 14) else "1.76.0", id="protobuf 5 or 6"),
]
PROGRAM = """
import asyncio, sys
from importlib.metadata import version
import grpc.aio
if sys.argv[1] == "client first":
    from grpc_health.v1 import health_pb2, health_pb2_grpc
from loadmonitor_worker import ReporterConfig, start_load_reporter
from loadmonitor_worker.sources import SyntheticSource

async def main():
    global health_pb2, health_pb2_grpc
    reporter = await start_load_reporter(ReporterConfig(port=0), SyntheticSource(1))
    from grpc_health.v1 import health_pb2, health_pb2_grpc
    answer = health_pb2.HealthCheckResponse
    async with grpc.aio.insecure_channel(reporter.address) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        for service in ("", "sglang.router.loadmonitor.v1.LoadMonitorService"):
            got = await stub.Check(health_pb2.HealthCheckRequest(service=service), timeout=20)
            assert got.status == answer.SERVING, got
        try:
            await stub.Check(health_pb2.HealthCheckRequest(service="other"), timeout=20)
        except grpc.aio.AioRpcError as error:
            assert error.code() is grpc.StatusCode.NOT_FOUND, error
        else:
            raise AssertionError("a service that isn't there was found")
        watch = stub.Watch(health_pb2.HealthCheckRequest(), timeout=20)
        statuses = [(await watch.read()).status]
        closing = asyncio.create_task(reporter.close())
        statuses.append((await watch.read()).status)
        assert statuses == [answer.SERVING, answer.NOT_SERVING], statuses
        await closing
    print(version("grpcio-health-checking"), version("protobuf").split(".")[0])

asyncio.run(main())
"""


@pytest.mark.parametrize("order", ["client first", "reporter first"])
@pytest.mark.parametrize("release", CLIENTS)
def test_the_usual_health_client_is_understood_beside_its_own_copy_of_the_messages(release: str, order: str) -> None:
    [shown] = output_beside(f"grpcio-health-checking=={release}", PROGRAM, order).splitlines()
    assert shown.startswith(f"{release} ")
