"""The GPUs of a machine, and which of them a process means by its CUDA index.

sysfs shows every GPU of the machine to every process, whatever `CUDA_VISIBLE_DEVICES` says, so that ranks which see one GPU each
still agree on the map. Neither torch nor NVML is imported: what they know is handed in.
"""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nic_metrics._reading import read_text
from nic_metrics.errors import PciAddressError
from nic_metrics.interfaces import CudaProperties
from nic_metrics.pci import DEFAULT_SYS_ROOT, PciPlace, normalize_pci_address, read_pci_place

DEFAULT_PROC_ROOT = Path("/proc")
"""Where Linux shows what drivers say."""

_NVIDIA = "0x10de"
_DISPLAY = "0x03"
_LINE = re.compile(r"^([A-Za-z ]+):[ \t]*(\S.*?)[ \t]*$", re.MULTILINE)


def list_gpus(sys_root: str | os.PathLike[str] = DEFAULT_SYS_ROOT, *, also: Iterable[str] = ()) -> tuple[PciPlace, ...]:
    """List the machine's NVIDIA GPUs in order of their addresses: display controllers of NVIDIA's on PCI.

    Args:
        sys_root: What stands for `/sys`. One without PCI has no GPUs.
        also: Addresses of GPUs that belong in the list whatever sysfs says, such as a GPU of another vendor.

    Raises:
        PciAddressError: One of `also` is no PCI address.
    """
    devices = Path(sys_root, "bus/pci/devices")
    try:
        found = {entry.name for entry in devices.iterdir() if _is_gpu(entry)}
    except OSError:
        found = set()
    found.update(map(normalize_pci_address, also))
    return tuple(read_pci_place(address, sys_root) for address in sorted(found))


def cuda_address(properties: CudaProperties) -> str:
    """Give the PCI address of a GPU from what `torch.cuda.get_device_properties(index)` returns."""
    return f"{properties.pci_domain_id:04x}:{properties.pci_bus_id:02x}:{properties.pci_device_id:02x}.0"


@dataclass(frozen=True, slots=True)
class DriverGpu:
    """A GPU that NVIDIA's driver offers to this container.

    Attributes:
        address: Its PCI address.
        uuid: Its UUID, such as `GPU-9f3c…`; None when the driver doesn't say.
        model: The driver's name for it; None when the driver doesn't say.
    """

    address: str
    uuid: str | None = None
    model: str | None = None


def list_driver_gpus(proc_root: str | os.PathLike[str] = DEFAULT_PROC_ROOT) -> tuple[DriverGpu, ...]:
    """List the GPUs that NVIDIA's driver offers here, in order of their addresses; a container is offered its own only.

    Args:
        proc_root: What stands for `/proc`. Without NVIDIA's driver there are none.
    """
    try:
        entries = list(Path(proc_root, "driver/nvidia/gpus").iterdir())
    except OSError:
        return ()
    gpus = []
    for entry in entries:
        try:
            address = normalize_pci_address(entry.name)
        except PciAddressError:
            continue
        # The lines that count stand at its beginning, so that it's no loss that the rest isn't read.
        said = dict(_LINE.findall(read_text(entry / "information") or ""))
        gpus.append(DriverGpu(address, said.get("GPU UUID"), said.get("Model")))
    return tuple(sorted(gpus, key=lambda gpu: gpu.address))


def cuda_gpus(gpus: Sequence[DriverGpu], environ: Mapping[str, str]) -> tuple[str | None, ...]:
    """Tell which GPU each CUDA index of a process means.

    CUDA takes the numbers of `CUDA_VISIBLE_DEVICES` in order of addresses when `CUDA_DEVICE_ORDER` is `PCI_BUS_ID`; otherwise
    the fastest comes first, which is the same order where all GPUs are of one model. It stops at the first entry that names
    none. A process that has torch should hand in `cuda_address` instead.

    Args:
        gpus: What the driver offers, in order of addresses.
        environ: The process's environment.

    Returns:
        The address for each CUDA index from 0; None where it can't be told (mixed models, instances of MIG).
    """
    ordered = environ.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID" or len({gpu.model for gpu in gpus}) <= 1
    visible = environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return tuple(gpu.address if ordered else None for gpu in gpus)
    addresses: list[str | None] = []
    for entry in (part.strip() for part in visible.split(",")):
        if entry.isascii() and entry.isdigit():
            if int(entry) >= len(gpus):
                break
            addresses.append(gpus[int(entry)].address if ordered else None)
        elif entry.startswith("GPU-"):
            named = [gpu.address for gpu in gpus if gpu.uuid is not None and gpu.uuid.startswith(entry)]
            addresses.append(named[0] if len(named) == 1 else None)
        elif entry.startswith("MIG-"):
            addresses.append(None)
        else:
            break
    return tuple(addresses)


def _is_gpu(device: Path) -> bool:
    vendor, display = read_text(device / "vendor"), read_text(device / "class")
    return vendor is not None and vendor.lower() == _NVIDIA and display is not None and display.startswith(_DISPLAY)
