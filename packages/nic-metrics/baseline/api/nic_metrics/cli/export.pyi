from nic_metrics.cli._ports import DEFAULT_SYSFS as DEFAULT_SYSFS, choose_ports as choose_ports, class_directory as class_directory
from nic_metrics.cli._signals import ended_by_sigterm as ended_by_sigterm
from nic_metrics.errors import NicMetricsError as NicMetricsError
from nic_metrics.prometheus import make_registry as make_registry
from pathlib import Path

class ListenError(NicMetricsError): ...

def run_export(*, listen: str = '127.0.0.1:9465', device: tuple[str, ...] = (), root: Path = ...) -> int: ...
