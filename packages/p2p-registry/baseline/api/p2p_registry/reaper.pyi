from dataclasses import dataclass
from p2p_registry.interfaces import Backend as Backend
from p2p_registry.listing import HEARTBEAT_TIMEOUT_MS as HEARTBEAT_TIMEOUT_MS

REMOVAL_TIMEOUT_MS: int

@dataclass(frozen=True, slots=True, kw_only=True)
class Reaped:
    marked_stale: int
    removed: int

async def reap(backend: Backend, now_ms: int) -> Reaped: ...
