import os
from _typeshed import Incomplete
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from nic_metrics._reading import read_text as read_text
from nic_metrics.errors import PciAddressError as PciAddressError
from nic_metrics.interfaces import CudaProperties as CudaProperties
from nic_metrics.pci import DEFAULT_SYS_ROOT as DEFAULT_SYS_ROOT, PciPlace as PciPlace, normalize_pci_address as normalize_pci_address, read_pci_place as read_pci_place

DEFAULT_PROC_ROOT: Incomplete

def list_gpus(sys_root: str | os.PathLike[str] = ..., *, also: Iterable[str] = ()) -> tuple[PciPlace, ...]: ...
def cuda_address(properties: CudaProperties) -> str: ...

@dataclass(frozen=True, slots=True)
class DriverGpu:
    address: str
    uuid: str | None = ...
    model: str | None = ...

def list_driver_gpus(proc_root: str | os.PathLike[str] = ...) -> tuple[DriverGpu, ...]: ...
def cuda_gpus(gpus: Sequence[DriverGpu], environ: Mapping[str, str]) -> tuple[str | None, ...]: ...
