from cyclopts import Parameter as Parameter, validators as validators
from nic_metrics.cli._ports import DEFAULT_SYSFS as DEFAULT_SYSFS, check_interval as check_interval, choose_ports as choose_ports, class_directory as class_directory, rounds as rounds
from nic_metrics.cli._uses import UseLines as UseLines, print_uses_json as print_uses_json
from nic_metrics.sampler import PortSampler as PortSampler
from pathlib import Path
from typing import Annotated

SCHEMA: str

def run_sample(*, interval: float = 1.0, count: Annotated[int, None] = 1, device: tuple[str, ...] = (), root: Path = ..., json_lines: Annotated[bool, None] = False) -> int: ...
