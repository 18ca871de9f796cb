import asyncio
import grpc.aio
from collections.abc import AsyncIterator, Sequence
from loadmonitor_proto import RouterFrame, WorkerFrame
from loadmonitor_worker._admission import first_refusal as first_refusal, identify as identify
from loadmonitor_worker._meter import Meter as Meter
from loadmonitor_worker._protocol import Monitor as Monitor
from loadmonitor_worker._session import Session as Session
from loadmonitor_worker.authorization import CallMetadata as CallMetadata
from loadmonitor_worker.interfaces import Authorizer as Authorizer, Clock as Clock

class MonitorServicer:
    reading: set[asyncio.Task[None]]
    meter: Meter | None
    def __init__(self, monitor: Monitor, authorizers: Sequence[Authorizer], clock: Clock) -> None: ...
    async def Monitor(self, request_iterator: AsyncIterator[RouterFrame], context: grpc.aio.ServicerContext[RouterFrame, WorkerFrame | bytes]) -> None: ...
