import grpc.aio
from loadmonitor_worker._fire import FireLoop as FireLoop
from loadmonitor_worker._orca import granted_interval_ns as granted_interval_ns
from loadmonitor_worker._session import OrcaSession as OrcaSession
from loadmonitor_worker._table import SessionTable as SessionTable
from loadmonitor_worker.config import ReporterConfig as ReporterConfig
from loadmonitor_worker.errors import ServingModeError as ServingModeError
from loadmonitor_worker.interfaces import Clock as Clock
from typing import Final

ORCA: Final[str]

class OrcaServicer:
    def __init__(self, config: ReporterConfig, table: SessionTable, fire_loop: FireLoop, clock: Clock) -> None: ...
    def add_to(self, server: grpc.aio.Server) -> None: ...
    def shut_down(self) -> None: ...
    async def stream_core_metrics(self, request: bytes, context: grpc.aio.ServicerContext[bytes, bytes]) -> None: ...
