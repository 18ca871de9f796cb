from cyclopts import Parameter as Parameter
from nic_metrics.affinity import AffinityPolicy as AffinityPolicy, affinity_map as affinity_map
from nic_metrics.cli._output import print_columns as print_columns, print_json as print_json
from nic_metrics.cli._ports import DEFAULT_SYSFS as DEFAULT_SYSFS, class_directory as class_directory
from nic_metrics.cli._topology import nearest_gpus as nearest_gpus, numbers as numbers, topology_below as topology_below
from nic_metrics.pci import PciPlace as PciPlace, pci_distance as pci_distance
from nic_metrics.ports import CodedState as CodedState, Port as Port, PortId as PortId
from nic_metrics.topology import Nic as Nic, Topology as Topology
from pathlib import Path
from typing import Annotated

LIST_SCHEMA: str
TOPO_SCHEMA: str

def run_list(*, topo: bool = False, root: Path = ..., json_lines: Annotated[bool, None] = False) -> int: ...
