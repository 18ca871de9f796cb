from cyclopts import Parameter as Parameter
from nic_metrics.cli._output import print_columns as print_columns
from nic_metrics.cli._ports import DEFAULT_SYSFS as DEFAULT_SYSFS, check_interval as check_interval, choose_ports as choose_ports, class_directory as class_directory, rounds as rounds
from nic_metrics.cli._signals import ended_by_sigterm as ended_by_sigterm
from nic_metrics.cli._topology import nearest_gpus as nearest_gpus, topology_below as topology_below
from nic_metrics.cli._uses import TABLE_TITLES as TABLE_TITLES, UseLines as UseLines, print_uses_json as print_uses_json, table_rows as table_rows
from nic_metrics.ports import read_port as read_port
from nic_metrics.sampler import PortSampler as PortSampler
from pathlib import Path
from typing import Annotated

SCHEMA: str

def run_watch(*, dmon: bool = False, interval: float = 1.0, device: tuple[str, ...] = (), root: Path = ..., json_lines: Annotated[bool, None] = False) -> int: ...
