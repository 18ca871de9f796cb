from collections.abc import AsyncIterator, Awaitable, Callable as Callable, Sequence
from loadmonitor_router._handshake import explain_failure as explain_failure
from loadmonitor_router._stream import StreamLostError as StreamLostError
from loadmonitor_router.config import normalize_address as normalize_address
from loadmonitor_router.conformance import acknowledging as acknowledging, changing as changing, ending as ending, lease as lease, opening as opening, reporting as reporting, state as state
from loadmonitor_router.conformance.dialling import Dialling as Dialling, read_dialling as read_dialling
from loadmonitor_router.conformance.results import Check as Check, ClauseResult as ClauseResult, Deviation as Deviation, Outcome as Outcome, Verdict as Verdict
from loadmonitor_router.conformance.trial import Acquaintance as Acquaintance, Trial as Trial, extensions_told as extensions_told
from loadmonitor_router.credentials import Credentials as Credentials, PLAINTEXT as PLAINTEXT
from loadmonitor_router.errors import ConfigError as ConfigError, NoReporterError as NoReporterError

CHECKS: tuple[Check, ...]

async def check_worker(address: str, clauses: Sequence[str] = (), *, timeout_seconds: float = 5.0, shut_down: Callable[[], Awaitable[None]] | None = None, credentials: Credentials = ..., progress: Callable[[str, int, int], None] | None = None) -> AsyncIterator[ClauseResult]: ...
