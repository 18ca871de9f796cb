import os
from _typeshed import Incomplete
from collections.abc import Iterable
from dataclasses import dataclass
from nic_metrics._reading import read_text as read_text
from nic_metrics.gpus import list_gpus as list_gpus
from nic_metrics.pci import DEFAULT_SYS_ROOT as DEFAULT_SYS_ROOT, PciPlace as PciPlace, read_numa_node as read_numa_node, read_path as read_path
from nic_metrics.ports import Port as Port, PortId as PortId, SkippedDevice as SkippedDevice, list_ports as list_ports, port_directory as port_directory

DEFAULT_DEV_ROOT: Incomplete

@dataclass(frozen=True, slots=True)
class Nic:
    device: str
    place: PciPlace
    ports: tuple[Port, ...]
    verbs: bool | None
    rate_text: str | None = ...

@dataclass(frozen=True, slots=True)
class Topology:
    gpus: tuple[PciPlace, ...]
    nics: tuple[Nic, ...]
    skipped: tuple[SkippedDevice, ...] = ...

def read_topology(sys_root: str | os.PathLike[str] = ..., *, root: str | os.PathLike[str] | None = None, dev_root: str | os.PathLike[str] | None = ..., gpus: Iterable[str] = ()) -> Topology: ...
