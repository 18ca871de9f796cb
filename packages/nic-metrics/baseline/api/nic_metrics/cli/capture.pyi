from cyclopts import Parameter as Parameter
from nic_metrics.capture import capture_tree as capture_tree
from nic_metrics.cli._output import print_json as print_json
from nic_metrics.cli._ports import DEFAULT_SYSFS as DEFAULT_SYSFS
from pathlib import Path
from typing import Annotated

SCHEMA: str

def run_capture(directory: Path, /, *, device: tuple[str, ...] = (), root: Path = ..., json_lines: Annotated[bool, None] = False) -> int: ...
