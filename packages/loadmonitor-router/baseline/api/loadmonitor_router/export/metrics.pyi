from _typeshed import Incomplete
from dataclasses import dataclass
from enum import StrEnum
from loadmonitor_router.stats import DELIVERY_AGE_BOUNDS as DELIVERY_AGE_BOUNDS

class Kind(StrEnum):
    GAUGE = 'gauge'
    COUNTER = 'counter'
    HISTOGRAM = 'histogram'

class Unit(StrEnum):
    REQUESTS = 'requests'
    TOKENS = 'tokens'
    TOKENS_PER_SECOND = 'tokens per second'
    RATIO = 'ratio, 0 to 1'
    SECONDS = 'seconds'
    WORKERS = 'workers'
    REPORTS = 'reports'
    EVENTS = 'events'
    FLAG = '0 or 1'

@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    name: str
    help: str
    kind: Kind
    unit: Unit
    labels: tuple[str, ...] = ...
    upper_bounds: tuple[float, ...] = ...

RUNNING_REQUESTS: Incomplete
WAITING_REQUESTS: Incomplete
WAITING_UNCACHED_TOKENS: Incomplete
TOKEN_USAGE: Incomplete
GEN_THROUGHPUT: Incomplete
PREFILL_THROUGHPUT: Incomplete
CACHE_HIT_RATE: Incomplete
QUEUE_PRESSURE: Incomplete
WORKERS: Incomplete
REPORT_AGE: Incomplete
DELIVERY_AGE: Incomplete
REPORTS: Incomplete
DROPPED_REPORTS: Incomplete
RECONNECTS: Incomplete
SESSIONS: Incomplete
FAIL_OPEN: Incomplete
PICKS: Incomplete
BUILD_INFO: Incomplete
FAMILIES: tuple[Family, ...]

class EngineMetrics(StrEnum):
    OFF = 'off'
    VLLM = 'vllm'
    SGLANG = 'sglang'

@dataclass(frozen=True, slots=True, kw_only=True)
class EngineFamilies:
    running: Family
    waiting: Family
    usage: Family

ENGINE_FAMILIES: dict[EngineMetrics, EngineFamilies]

def markdown_table() -> str: ...
