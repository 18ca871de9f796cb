from collections.abc import Callable as Callable, Mapping
from dataclasses import dataclass
from nic_metrics._fork import renew_after_fork as renew_after_fork
from nic_metrics.blend import Blend as Blend, greatest as greatest
from nic_metrics.interfaces import Signal as Signal
from nic_metrics.signals import SignalReading as SignalReading, SignalReason as SignalReason

@dataclass(frozen=True, slots=True)
class SourceLoad:
    value: float | None
    reason: str | None
    signals: Mapping[str, SignalReading]
    blended: float | None = ...
    held_seconds: float | None = ...

class SourceLoadProvider:
    def __init__(self, signals: Mapping[str, Signal], *, blend: Blend = ..., max_age_seconds: float = 60.0, smoothing_seconds: float = 0.0, hold_seconds: float = 0.0, unknown_load: float | None = None, clock: Callable[[], float] = ...) -> None: ...
    def __call__(self) -> float | None: ...
    def explain(self) -> SourceLoad: ...
    def close(self) -> None: ...
