from _typeshed import Incomplete
from collections.abc import Callable as Callable, Mapping
from dataclasses import dataclass
from loadmonitor_worker._validate import name_ranks as name_ranks
from loadmonitor_worker.errors import InvalidSnapshotError as InvalidSnapshotError, SourceUnavailableError as SourceUnavailableError
from loadmonitor_worker.snapshot import RankSnapshot as RankSnapshot
from loadmonitor_worker.sources._metrics_question import Question as Question
from loadmonitor_worker.sources._metrics_series import ByRank as ByRank, Told as Told, tell as tell
from loadmonitor_worker.sources._metrics_terms import Reading as Reading, Term as Term
from loadmonitor_worker.sources._prom_text import MetricsReason as MetricsReason, Samples as Samples
from loadmonitor_worker.sources.metrics_mapping import CAPACITIES as CAPACITIES, NEEDED as NEEDED

@dataclass(frozen=True, slots=True)
class MetricsLoads:
    ranks: tuple[RankSnapshot, ...]
    unknown: Mapping[str, str]

def read_ranks(samples: Samples, question: Question, *, requested_unix_ms: int) -> MetricsLoads: ...

class _Unknown(Exception):
    reason: Incomplete
    def __init__(self, reason: MetricsReason, message: str) -> None: ...

class _Text:
    def __init__(self, samples: Samples, question: Question) -> None: ...
    def loads(self, requested_unix_ms: int) -> MetricsLoads: ...
