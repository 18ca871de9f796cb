import grpc.aio
from enum import IntEnum
from typing import Final

HEALTH: Final[str]
MAX_WATCHERS: Final[int]

class ServingStatus(IntEnum):
    UNKNOWN = 0
    SERVING = 1
    NOT_SERVING = 2
    SERVICE_UNKNOWN = 3

class HealthServicer:
    def __init__(self) -> None: ...
    def shut_down(self) -> None: ...
    async def check(self, service: str, context: grpc.aio.ServicerContext[str, ServingStatus]) -> ServingStatus: ...
    async def watch(self, service: str, context: grpc.aio.ServicerContext[str, ServingStatus]) -> None: ...

def add_health_servicer(servicer: HealthServicer, server: grpc.aio.Server) -> None: ...
