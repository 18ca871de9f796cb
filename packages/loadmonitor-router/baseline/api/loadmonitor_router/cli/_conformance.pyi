from collections.abc import Callable, Sequence
from loadmonitor_router.cli._process import stopping as stopping
from loadmonitor_router.conformance import ClauseResult as ClauseResult, Outcome as Outcome, check_worker as check_worker
from loadmonitor_router.credentials import Credentials as Credentials
from loadmonitor_router.errors import LoadMonitorRouterError as LoadMonitorRouterError

SCHEMA: str
Show = Callable[[ClauseResult], None]

async def judge_worker(worker: str, clauses: Sequence[str], *, frame_timeout_seconds: float, timeout_seconds: float, shut_down: str | None, as_json: bool, is_terminal: bool, credentials: Credentials) -> int: ...

class _Turn:
    place: str
    def __init__(self, *, on_terminal: bool) -> None: ...
    def comes(self, clause: str, number: int, count: int) -> None: ...
    def ends(self) -> None: ...
