from dataclasses import dataclass
from enum import StrEnum
from loadmonitor_worker.errors import ConfigError as ConfigError

class WorkerState(StrEnum):
    LOADING = 'loading'
    SERVING = 'serving'
    DRAINING = 'draining'
    PAUSED = 'paused'

def checked_state(state: str) -> WorkerState: ...

@dataclass(frozen=True, slots=True, kw_only=True)
class IdleOutcome:
    idle: bool
    reason: str | None
