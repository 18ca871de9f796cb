import grpc.aio
from collections.abc import Sequence
from loadmonitor_worker._admission import configured_authorizers as configured_authorizers
from loadmonitor_worker._fire import FireLoop as FireLoop, ReporterCounters as ReporterCounters
from loadmonitor_worker._health import HealthServicer as HealthServicer, add_health_servicer as add_health_servicer
from loadmonitor_worker._idle import IdleWatch as IdleWatch
from loadmonitor_worker._journal import SessionJournal as SessionJournal
from loadmonitor_worker._listen import check_bindable as check_bindable, format_address as format_address
from loadmonitor_worker._meter import Meter as Meter
from loadmonitor_worker._orca_service import OrcaServicer as OrcaServicer
from loadmonitor_worker._protocol import Monitor as Monitor
from loadmonitor_worker._pull import Puller as Puller
from loadmonitor_worker._report import ReportBuilder as ReportBuilder
from loadmonitor_worker._rotation import Rotation as Rotation
from loadmonitor_worker._service import MonitorServicer as MonitorServicer
from loadmonitor_worker._table import SessionTable as SessionTable
from loadmonitor_worker._tls import certificate_cache as certificate_cache
from loadmonitor_worker._verdict import Attempt as Attempt
from loadmonitor_worker.config import ReporterConfig as ReporterConfig, is_loopback as is_loopback
from loadmonitor_worker.errors import BindError as BindError, ForkedProcessError as ForkedProcessError
from loadmonitor_worker.interfaces import Authorizer as Authorizer, Clock as Clock, LoadSnapshotSource as LoadSnapshotSource
from loadmonitor_worker.measurements import Measurements as Measurements
from loadmonitor_worker.state import IdleOutcome as IdleOutcome, WorkerState as WorkerState

GOODBYE_SECONDS: float

class ReporterServer:
    address: str
    source_instance_id: str
    expected_dp_ranks: frozenset[int] | None
    def __init__(self, config: ReporterConfig, source: LoadSnapshotSource, clock: Clock, authorizers: Sequence[Authorizer] = ()) -> None: ...
    @property
    def counters(self) -> ReporterCounters: ...
    @property
    def worker_state(self) -> WorkerState | None: ...
    def set_worker_state(self, state: WorkerState) -> None: ...
    async def wait_until_idle(self, timeout_seconds: float) -> IdleOutcome: ...
    def add_orca_service(self, server: grpc.aio.Server) -> None: ...
    def measure(self) -> Measurements: ...
    async def start(self) -> None: ...
    async def stop(self) -> None: ...
