from collections.abc import Callable as Callable, Mapping, Sequence
from loadmonitor_worker.errors import ConfigError as ConfigError
from loadmonitor_worker.snapshot import RankSnapshot as RankSnapshot
from loadmonitor_worker.sources._http_answer import check_answer as check_answer
from loadmonitor_worker.sources._http_get import HttpGet as HttpGet, authorization as authorization, checked_url as checked_url, httpx_module as httpx_module
from loadmonitor_worker.sources._metrics_question import Question as Question
from loadmonitor_worker.sources._metrics_ranks import read_ranks as read_ranks
from loadmonitor_worker.sources._prom_text import lines_of as lines_of, prometheus_parsers as prometheus_parsers, read_samples as read_samples
from loadmonitor_worker.sources._time import system_unix_ms as system_unix_ms
from loadmonitor_worker.sources._v1_loads import MOST_RANKS as MOST_RANKS
from loadmonitor_worker.sources.metrics_mapping import CAPACITIES as CAPACITIES, MetricsMapping as MetricsMapping
from pathlib import Path

class MetricsSource:
    def __init__(self, mapping: MetricsMapping | str | Path, engine_url: str, *, api_key: str | None = None, dp_size: int | None = None, first_dp_rank: int = 0, max_total_num_tokens: int | None = None, max_running_requests: int | None = None, select: Mapping[str, str] = ..., prefix: str = '', timeout_ms: int = 800, max_body_bytes: int = ..., unix_ms: Callable[[], int] = ...) -> None: ...
    @property
    def url(self) -> str: ...
    @property
    def unknown_fields(self) -> Mapping[str, str]: ...
    def expected_dp_ranks(self) -> frozenset[int]: ...
    async def get_loads(self) -> Sequence[RankSnapshot]: ...
    async def aclose(self) -> None: ...
