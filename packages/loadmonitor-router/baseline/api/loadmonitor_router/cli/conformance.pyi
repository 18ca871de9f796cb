from cyclopts import Parameter as Parameter
from loadmonitor_router.cli._checks import check_timeout as check_timeout
from loadmonitor_router.cli._security import NO_SECURITY as NO_SECURITY, SecurityFlags as SecurityFlags
from typing import Annotated

def conformance(worker: str, /, *, clause: tuple[str, ...] = (), json: bool = False, frame_timeout_seconds: Annotated[float, None] = 5.0, timeout_seconds: Annotated[float, None] = 300.0, shut_down: str | None = None, security: SecurityFlags = ...) -> int: ...
