from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from nic_metrics.blend import LOOKS_IDLE_BELOW as LOOKS_IDLE_BELOW
from nic_metrics.errors import ExpositionError as ExpositionError, ExpositionProblem as ExpositionProblem
from nic_metrics.exposition import Series as Series, SeriesFinder as SeriesFinder

class LoadUnit(StrEnum):
    RATIO = 'ratio'
    PERCENT = 'percent'

@dataclass(frozen=True, slots=True)
class LoadMetric:
    name: str
    unit: LoadUnit = ...

DEFAULT_LOAD_METRICS: tuple[LoadMetric, ...]
DEFAULT_PREFIXES: tuple[str, ...]

class ServingLoadReason(StrEnum):
    NO_METRIC = 'no_metric'
    NO_SUCH_RANK = 'no_such_rank'
    NOT_KNOWN = 'not_known'
    OUT_OF_RANGE = 'out_of_range'
    SLEEPING = 'sleeping'
    CUT_OFF = 'cut_off'
    BAD_LINE = 'bad_line'

@dataclass(frozen=True, slots=True)
class ServingLoad:
    value: float | None
    reason: ServingLoadReason | None
    metric: str | None = ...
    series: int = ...
    ignored: int = ...
    detail: str = ...

class ServingLoadReader:
    def __init__(self, *, metrics: Sequence[LoadMetric] = ..., prefixes: Sequence[str] = ..., select: Mapping[str, str] | None = None) -> None: ...
    def read(self, text: bytes, content_type: str = '') -> ServingLoad: ...
