from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from router_lifecycle.dialects import Dialect as Dialect
from router_lifecycle.models import Worker as Worker, WorkerRow as WorkerRow, ranks_missing as ranks_missing
from router_lifecycle.observation import Observation as Observation
from typing import TypeAlias

Leftover: TypeAlias

@dataclass(frozen=True, slots=True)
class Finding:
    kind: Leftover
    worker_url: str
    seen: str
    advice: str

def diagnose(dialect: Dialect, workers: Iterable[Worker], observations: Mapping[str, Observation], *, removed: frozenset[str] = ...) -> list[Finding]: ...
