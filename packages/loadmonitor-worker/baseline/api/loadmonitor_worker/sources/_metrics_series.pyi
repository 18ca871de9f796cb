from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from loadmonitor_worker.errors import InvalidSnapshotError as InvalidSnapshotError, SourceUnavailableError as SourceUnavailableError
from loadmonitor_worker.sources._metrics_terms import Term as Term
from loadmonitor_worker.sources._prom_text import MetricsReason as MetricsReason, Sample as Sample
from loadmonitor_worker.sources._v1_loads import MOST_RANKS as MOST_RANKS
from loadmonitor_worker.sources.metrics_mapping import MetricsMapping as MetricsMapping

@dataclass(frozen=True, slots=True)
class Told:
    value: float | None
    unix_ms: int | None
ByRank = Mapping[int | None, Told]

def tell(samples: Iterable[Sample], term: Term, mapping: MetricsMapping, select: Mapping[str, str], *, adds: bool, where: str) -> ByRank: ...
