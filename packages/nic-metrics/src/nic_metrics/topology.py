"""The GPUs and RDMA devices of a machine at one moment, and where each sits. Policies and choices are made from it alone."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from nic_metrics._reading import read_text
from nic_metrics.gpus import list_gpus
from nic_metrics.pci import DEFAULT_SYS_ROOT, PciPlace, read_numa_node, read_path
from nic_metrics.ports import Port, PortId, SkippedDevice, list_ports, port_directory

DEFAULT_DEV_ROOT = Path("/dev")
"""Where Linux has its device nodes."""


@dataclass(frozen=True, slots=True)
class Nic:
    """An RDMA device.

    Attributes:
        device: Its name in the class directory.
        place: Where it sits.
        ports: Its ports, at least one, by number.
        verbs: Whether there is a verbs node to use it by, for containers see every device and are given the nodes of some; None when
            sysfs doesn't show the device behind it.
        rate_text: What the file `rate` of port 1 holds; None when it can't be read.
    """

    device: str
    place: PciPlace
    ports: tuple[Port, ...]
    verbs: bool | None
    rate_text: str | None = None


@dataclass(frozen=True, slots=True)
class Topology:
    """The GPUs and RDMA devices of a machine.

    Attributes:
        gpus: Every GPU of the machine, in order of address.
        nics: Every RDMA device, in natural order of name.
        skipped: Entries of the class directory that could not be taken for a device.
    """

    gpus: tuple[PciPlace, ...]
    nics: tuple[Nic, ...]
    skipped: tuple[SkippedDevice, ...] = ()


def read_topology(
    sys_root: str | os.PathLike[str] = DEFAULT_SYS_ROOT,
    *,
    root: str | os.PathLike[str] | None = None,
    dev_root: str | os.PathLike[str] | None = DEFAULT_DEV_ROOT,
    gpus: Iterable[str] = (),
) -> Topology:
    """Read a machine's topology.

    Args:
        sys_root: What stands for `/sys`: the host's, mounted elsewhere, or a copy.
        root: The class directory, where it isn't `class/infiniband` below `sys_root`.
        dev_root: What stands for `/dev`; None to take every verbs node that sysfs lists for one that can be used, which is right
            for a copy and for looking at the host from beside.
        gpus: Addresses of GPUs that are known from elsewhere, such as torch; they are added to those that sysfs shows.

    Raises:
        PciAddressError: One of `gpus` is no PCI address.
        OSError: The class directory exists and can't be listed.
    """
    class_directory = Path(sys_root, "class/infiniband") if root is None else Path(root)
    inventory = list_ports(class_directory)
    ports: dict[str, list[Port]] = {}
    for port in inventory.ports:
        ports.setdefault(port.id.device, []).append(port)
    nics = (
        Nic(
            device,
            _place(class_directory / device / "device"),
            tuple(its_ports),
            _has_verbs(class_directory / device / "device", dev_root),
            read_text(port_directory(PortId(device), class_directory) / "rate"),
        )
        for device, its_ports in ports.items()
    )
    return Topology(list_gpus(sys_root, also=gpus), tuple(nics), inventory.skipped)


def _place(device: Path) -> PciPlace:
    path = read_path(device)
    # A device of another bus, such as virtio's, may hang below one of PCI.
    address = path[-1] if path and device.resolve().name == path[-1] else None
    return PciPlace(address, path, read_numa_node(device))


def _has_verbs(device: Path, dev_root: str | os.PathLike[str] | None) -> bool | None:
    try:
        nodes = [entry.name for entry in (device / "infiniband_verbs").iterdir() if entry.name.startswith("uverbs")]
    except OSError:
        return False if device.exists() else None
    return any(dev_root is None or Path(dev_root, "infiniband", node).exists() for node in nodes)
