from enum import StrEnum
from nic_metrics.counters import ByteSource as ByteSource, CounterSet as CounterSet
from typing import NamedTuple

SHORTEST_SECONDS: float

class UnknownReason(StrEnum):
    FIRST_SAMPLE = 'first_sample'
    WINDOW_TOO_SHORT = 'window_too_short'
    PORT_MISSING = 'port_missing'
    PORT_NOT_ACTIVE = 'port_not_active'
    NO_BYTE_COUNTER = 'no_byte_counter'
    COUNTER_RESET = 'counter_reset'
    COUNTER_SATURATED = 'counter_saturated'
    SOURCE_CHANGED = 'source_changed'
    CAPACITY_UNKNOWN = 'capacity_unknown'
    CAPACITY_CHANGED = 'capacity_changed'
    CAPACITY_IMPLAUSIBLE = 'capacity_implausible'

class Direction(StrEnum):
    TX = 'tx'
    RX = 'rx'

class PortSample(NamedTuple):
    seconds: float
    counters: CounterSet | None
    link_bytes_per_second: float | None
    active: bool | None = ...
    cache_seconds: float = ...
    present: bool = ...

class Utilization(NamedTuple):
    value: float | None
    reason: UnknownReason | None
    tx_bytes_per_second: float | None = ...
    rx_bytes_per_second: float | None = ...
    link_bytes_per_second: float | None = ...
    source: str | None = ...
    missing: Direction | None = ...

def measure(before: PortSample | None, now: PortSample, *, min_window_seconds: float) -> Utilization: ...
def next_baseline(before: PortSample | None, now: PortSample, measured: Utilization) -> PortSample | None: ...
def all_ones(source: ByteSource) -> frozenset[int]: ...
