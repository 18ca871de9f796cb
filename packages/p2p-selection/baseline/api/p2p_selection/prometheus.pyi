from _typeshed import Incomplete
from collections.abc import Iterator
from p2p_selection.candidates import Candidate as Candidate, known_load as known_load
from p2p_selection.config import SelectionConfig as SelectionConfig
from p2p_selection.errors import MetadataLookupError as MetadataLookupError
from p2p_selection.interfaces import AttemptOutcome as AttemptOutcome
from p2p_selection.selection import Fate as Fate, Selection as Selection
from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from typing import Final

CANDIDATE_BUCKETS: Final[Incomplete]
SELECTION_SECONDS_BUCKETS: Final[Incomplete]
TRANSFER_SECONDS_BUCKETS: Final[Incomplete]
LIST_RESULTS: Final[Incomplete]

class SelectionMetrics:
    registry: CollectorRegistry
    def __init__(self, *, registry: CollectorRegistry | None = None, scheme: str = '', source_id_label: bool = False) -> None: ...
    @classmethod
    def from_config(cls, config: SelectionConfig, *, registry: CollectorRegistry | None = None) -> SelectionMetrics | None: ...
    def selected(self, selection: Selection, seconds: float) -> None: ...
    def listing_failed(self, policy: str, error: Exception) -> None: ...
    def attempted(self, policy: str, candidate: Candidate, outcome: AttemptOutcome, seconds: float, error: Exception | None) -> None: ...

class _Loads(Collector):
    def __init__(self, scheme: str, *, source_id_label: bool) -> None: ...
    def show(self, selection: Selection) -> None: ...
    def collect(self) -> Iterator[GaugeMetricFamily]: ...
