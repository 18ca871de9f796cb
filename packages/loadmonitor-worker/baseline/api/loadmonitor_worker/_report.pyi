from _typeshed import Incomplete
from loadmonitor_worker._verdict import Attempt as Attempt, Verdict as Verdict
from loadmonitor_worker.config import ReporterConfig as ReporterConfig
from loadmonitor_worker.errors import ConfigError as ConfigError
from loadmonitor_worker.snapshot import RankSnapshot as RankSnapshot
from loadmonitor_worker.state import WorkerState as WorkerState

class ReportBuilder:
    source_instance_id: Incomplete
    sequence_id: int
    worker_state: WorkerState | None
    def __init__(self, config: ReporterConfig, source_instance_id: str) -> None: ...
    def build(self, attempt: Attempt, verdict: Verdict, *, now_unix_ms: int, active_routers: int) -> bytes: ...

def acknowledgement_frame(config: ReporterConfig, source_instance_id: str, *, report_interval_ms: int, lease_ttl_ms: int) -> bytes: ...
def error_frame(code: str, message: str) -> bytes: ...
