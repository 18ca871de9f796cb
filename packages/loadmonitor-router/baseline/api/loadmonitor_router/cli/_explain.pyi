from loadmonitor_router.cli._flags import in_flags as in_flags
from loadmonitor_router.cli._process import own_router_id as own_router_id, quiet_library as quiet_library, stopping as stopping
from loadmonitor_router.cli._workers import make_monitor as make_monitor, named as named
from loadmonitor_router.connection import ConnectionState as ConnectionState
from loadmonitor_router.credentials import Credentials as Credentials
from loadmonitor_router.explanation import Explanation as Explanation, explain as explain
from loadmonitor_router.monitor import LoadMonitor as LoadMonitor
from loadmonitor_router.snapshot import WorkerLoad as WorkerLoad

async def explain_worker(worker: str, *, timeout_seconds: float, report_interval_ms: int, lease_ttl_ms: int, credentials: Credentials) -> tuple[int, str]: ...
