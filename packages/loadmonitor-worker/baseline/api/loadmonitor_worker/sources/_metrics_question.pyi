from collections.abc import Mapping
from dataclasses import dataclass
from loadmonitor_worker.sources._metrics_terms import REFERABLE as REFERABLE, Reading as Reading, Term as Term
from loadmonitor_worker.sources._prom_text import plain_name as plain_name
from loadmonitor_worker.sources.metrics_mapping import MetricsMapping as MetricsMapping

@dataclass(frozen=True, slots=True)
class Question:
    mapping: MetricsMapping
    fixed: Mapping[str, int]
    select: Mapping[str, str]
    prefix: str
    unlabelled_rank: int
    where: str
    @property
    def wanted(self) -> frozenset[str]: ...
    @property
    def fields(self) -> tuple[str, ...]: ...
    def readings(self, field: str) -> tuple[Reading, ...]: ...
    def name(self, term: Term) -> str: ...
