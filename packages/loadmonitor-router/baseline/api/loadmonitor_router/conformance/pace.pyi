from loadmonitor_router.conformance.results import Deviation as Deviation
from loadmonitor_router.conformance.stream import RouterStream as RouterStream

GRANTED_PACE_MS: range

async def at_least(stream: RouterStream, interval_ms: int) -> None: ...
