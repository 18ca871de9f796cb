from cyclopts import Parameter as Parameter
from nic_metrics.choosing import choose_nics as choose_nics
from nic_metrics.cli._output import number as number, print_columns as print_columns, print_json as print_json
from nic_metrics.cli._ports import DEFAULT_SYSFS as DEFAULT_SYSFS, check_interval as check_interval, class_directory as class_directory
from nic_metrics.cli._topology import topology_below as topology_below
from nic_metrics.cli._usage import UsageError as UsageError, check_timeout as check_timeout, selected as selected
from nic_metrics.gpus import cuda_gpus as cuda_gpus, list_driver_gpus as list_driver_gpus
from nic_metrics.interfaces import Signal as Signal
from nic_metrics.nic_signal import NicSignal as NicSignal, nic_signal as nic_signal
from nic_metrics.provider import SourceLoad as SourceLoad, SourceLoadProvider as SourceLoadProvider
from nic_metrics.scraper import ServingLoadScraper as ServingLoadScraper
from nic_metrics.serving_load import ServingLoadReader as ServingLoadReader
from nic_metrics.source_load import METRICS_URL_VARIABLE as METRICS_URL_VARIABLE
from nic_metrics.topology import Topology as Topology
from pathlib import Path
from typing import Annotated

SCHEMA: str

def run_load(*, device: tuple[str, ...] = (), busiest_of: tuple[str, ...] = (), gpu: str | None = None, cuda_index: int | None = None, nic: Annotated[bool, None] = True, root: Path = ..., url: str | None = None, engine: int | None = None, dp_rank: int | None = None, interval_seconds: Annotated[float, None] = 1.0, timeout_seconds: Annotated[float, None] = 1.0, json_lines: Annotated[bool, None] = False) -> int: ...
