from dataclasses import dataclass
from nic_metrics._wire import TooLargeError as TooLargeError, Wire as Wire
from nic_metrics.errors import MetricsUrlError as MetricsUrlError, ScrapeError as ScrapeError, ScrapeProblem as ScrapeProblem

@dataclass(frozen=True, slots=True)
class MetricsText:
    body: bytes
    content_type: str

class MetricsUrl:
    url: str
    def __init__(self, url: str) -> None: ...
    def fetch(self, *, deadline_seconds: float = 1.0, max_bytes: int = ...) -> MetricsText: ...
