import os
from _typeshed import Incomplete
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from nic_metrics._reading import read_text as read_text
from nic_metrics.errors import PciAddressError as PciAddressError
from pathlib import Path

DEFAULT_SYS_ROOT: Incomplete

@dataclass(frozen=True, slots=True)
class PciPlace:
    address: str | None
    path: tuple[str, ...] = ...
    numa_node: int | None = ...

class PciDistance(StrEnum):
    PIX = 'PIX'
    PXB = 'PXB'
    PHB = 'PHB'
    NODE = 'NODE'
    SYS = 'SYS'

def normalize_pci_address(text: str) -> str: ...
def read_pci_place(address: str, sys_root: str | os.PathLike[str] = ...) -> PciPlace: ...
def read_path(device: Path) -> tuple[str, ...]: ...
def read_numa_node(device: Path) -> int | None: ...
def shared_depth(one: Sequence[str], other: Sequence[str]) -> int: ...
def pci_distance(one: PciPlace, other: PciPlace) -> PciDistance | None: ...
