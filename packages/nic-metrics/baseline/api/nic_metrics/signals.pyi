from dataclasses import dataclass
from enum import StrEnum

class SignalReason(StrEnum):
    NOT_YET = 'not_yet'
    WINDOW_TOO_LONG = 'window_too_long'
    ONE_DIRECTION = 'one_direction'
    BAD_ADDRESS = 'bad_address'
    TOO_OLD = 'too_old'
    INVALID = 'invalid'
    FAILED = 'failed'
    NO_SIGNAL = 'no_signal'
    ALL_UNKNOWN = 'all_unknown'
    PARTLY_UNKNOWN = 'partly_unknown'

@dataclass(frozen=True, slots=True)
class SignalReading:
    value: float | None
    reason: str | None
    age_seconds: float = ...
    detail: str = ...
    final: bool = ...

@dataclass(frozen=True, slots=True)
class UnknownSignal:
    reason: str
    detail: str = ...
    def read(self) -> SignalReading: ...
    def close(self) -> None: ...
