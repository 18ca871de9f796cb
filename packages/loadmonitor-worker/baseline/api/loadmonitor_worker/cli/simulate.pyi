from loadmonitor_worker.cli._options import stop_signals as stop_signals
from loadmonitor_worker.errors import ConfigError as ConfigError
from loadmonitor_worker.sources import SglangShmWriter as SglangShmWriter, SyntheticSource as SyntheticSource
from loadmonitor_worker.sources._shm_layout import MAGIC as MAGIC
from pathlib import Path

MAX_DP_SIZE: int

def simulate(*, shm_path: Path, dp_size: int = 1, seed: int = 0, period_ms: int = 20000, publish_interval_ms: int = 50) -> int: ...
