from cyclopts import Parameter as Parameter
from loadmonitor_router.cli._checks import check_timeout as check_timeout
from loadmonitor_router.cli._security import NO_SECURITY as NO_SECURITY, SecurityFlags as SecurityFlags
from typing import Annotated

def explain(worker: str, /, *, timeout_seconds: Annotated[float, None] = 5.0, report_interval_ms: int = 1000, lease_ttl_ms: int = 15000, security: SecurityFlags = ...) -> int: ...
