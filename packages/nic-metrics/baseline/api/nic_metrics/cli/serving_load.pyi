from cyclopts import Parameter as Parameter
from nic_metrics.cli._output import number as number, print_columns as print_columns, print_json as print_json
from nic_metrics.cli._usage import UsageError as UsageError, check_timeout as check_timeout, selected as selected
from nic_metrics.errors import ScrapeError as ScrapeError
from nic_metrics.scrape import MetricsUrl as MetricsUrl
from nic_metrics.serving_load import DEFAULT_PREFIXES as DEFAULT_PREFIXES, ServingLoad as ServingLoad, ServingLoadReader as ServingLoadReader
from nic_metrics.source_load import METRICS_URL_VARIABLE as METRICS_URL_VARIABLE
from pathlib import Path
from typing import Annotated, TypedDict

SCHEMA: str

class _Found(TypedDict):
    load: float | None
    reason: str | None
    detail: str
    metric: str | None
    series: int | None
    ignored: int | None

def run_serving_load(*, url: str | None = None, file: Annotated[Path | None, None] = None, engine: int | None = None, dp_rank: int | None = None, prefix: str | None = None, timeout_seconds: Annotated[float, None] = 1.0, json_lines: Annotated[bool, None] = False) -> int: ...
