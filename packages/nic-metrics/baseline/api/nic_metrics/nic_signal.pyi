import os
from collections.abc import Callable as Callable, Iterable
from nic_metrics._fork import renew_after_fork as renew_after_fork
from nic_metrics.blend import LOOKS_IDLE_BELOW as LOOKS_IDLE_BELOW
from nic_metrics.combining import busiest as busiest, combine_rails as combine_rails
from nic_metrics.interfaces import Signal as Signal
from nic_metrics.nic_choice import Combination as Combination, NicChoice as NicChoice
from nic_metrics.ports import DEFAULT_ROOT as DEFAULT_ROOT, PortId as PortId
from nic_metrics.sampler import PortSampler as PortSampler
from nic_metrics.signals import SignalReading as SignalReading, SignalReason as SignalReason, UnknownSignal as UnknownSignal
from nic_metrics.utilization import UnknownReason as UnknownReason, Utilization as Utilization

class NicSignal:
    def __init__(self, ports: Iterable[PortId], *, combine: Callable[[Iterable[Utilization]], Utilization] = ..., root: str | os.PathLike[str] = ..., clock: Callable[[], float] = ..., min_window_seconds: float = 0.1, max_window_seconds: float = 120.0) -> None: ...
    def read(self) -> SignalReading: ...
    def close(self) -> None: ...

def nic_signal(choice: NicChoice, *, root: str | os.PathLike[str] = ..., clock: Callable[[], float] = ...) -> Signal: ...
