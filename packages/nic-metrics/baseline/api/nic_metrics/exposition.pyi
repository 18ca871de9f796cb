from collections.abc import Collection, Mapping
from dataclasses import dataclass
from nic_metrics.errors import ExpositionError as ExpositionError, ExpositionProblem as ExpositionProblem

@dataclass(frozen=True, slots=True)
class Series:
    name: str
    labels: Mapping[str, str]
    value: float

class SeriesFinder:
    def __init__(self, names: Collection[str]) -> None: ...
    def find(self, text: bytes, content_type: str = '') -> list[Series]: ...
