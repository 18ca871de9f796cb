from collections.abc import Callable as Callable

FIRST_MS: int
LONGEST_MS: int
RIVAL_FIRST_MS: int
RIVAL_LONGEST_MS: int

class Backoff:
    def __init__(self, jitter: Callable[[], float]) -> None: ...
    def delay_ms(self, *, held_ms: float, code: str | None, no_service: bool) -> float: ...
