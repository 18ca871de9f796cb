import grpc.aio
from collections.abc import AsyncIterator
from loadmonitor_proto.v1.load_monitor_pb2 import RouterFrame, WorkerFrame
from typing import Protocol

__all__ = ['SERVICE_NAME', 'MONITOR_METHOD', 'LoadMonitorStub', 'LoadMonitorServicer', 'add_load_monitor_servicer']

SERVICE_NAME: str
MONITOR_METHOD: str

class LoadMonitorStub:
    Monitor: grpc.aio.StreamStreamMultiCallable[RouterFrame, WorkerFrame | None]
    def __init__(self, channel: grpc.aio.Channel) -> None: ...

class LoadMonitorServicer(Protocol):
    async def Monitor(self, request_iterator: AsyncIterator[RouterFrame], context: grpc.aio.ServicerContext[RouterFrame, WorkerFrame | bytes]) -> None: ...

def add_load_monitor_servicer(servicer: LoadMonitorServicer, server: grpc.aio.Server) -> None: ...
