from cyclopts import Parameter as Parameter
from loadmonitor_router.cli._checks import check_timeout as check_timeout
from loadmonitor_router.cli._security import NO_SECURITY as NO_SECURITY, SecurityFlags as SecurityFlags
from loadmonitor_router.errors import ConfigError as ConfigError
from typing import Annotated, Literal

def watch(*workers: str, discover: str | None = None, reporter_port: int | None = None, json: bool = False, once: bool = False, until: Literal['fresh'] | None = None, report_interval_ms: int = 1000, lease_ttl_ms: int = 15000, timeout_seconds: Annotated[float, None] = 5.0, security: SecurityFlags = ...) -> int: ...
