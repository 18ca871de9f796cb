from loadmonitor_worker._verdict import Attempt as Attempt, FUTURE_TOLERANCE_MS as FUTURE_TOLERANCE_MS

QUIET_NS: int

class IdleWatch:
    reason: str
    def __init__(self) -> None: ...
    def observe(self, attempt: Attempt, untold: list[str], *, now_ns: int, now_unix_ms: int) -> bool: ...
