"""The machine that a command looks at, and which of its devices are near to a GPU."""

from collections.abc import Mapping
from pathlib import Path

from nic_metrics.cli._ports import DEFAULT_SYSFS, class_directory
from nic_metrics.pci import PciDistance, PciPlace, pci_distance, shared_depth
from nic_metrics.topology import DEFAULT_DEV_ROOT, Nic, Topology, read_topology


def topology_below(root: Path) -> Topology:
    """Read the topology under what stands for `/sys`; another machine's has no device nodes here, so that those of sysfs count."""
    return read_topology(root, root=class_directory(root), dev_root=DEFAULT_DEV_ROOT if root == DEFAULT_SYSFS else None)


def nearest_gpus(topology: Topology) -> Mapping[str, tuple[int, ...]]:
    """Give the numbers of the GPUs to which no other device is nearer, by the device's name.

    GPUs are numbered in order of their addresses. A device on another NUMA node isn't near at all.
    """
    return {
        nic.device: tuple(number for number, gpu in enumerate(topology.gpus) if _is_nearest(topology, nic, gpu))
        for nic in topology.nics
    }


def numbers(gpus: tuple[int, ...]) -> str:
    """Write the numbers of GPUs, `-` where there is none."""
    return ",".join(map(str, gpus)) or "-"


def _is_nearest(topology: Topology, nic: Nic, gpu: PciPlace) -> bool:
    return pci_distance(gpu, nic.place) not in {None, PciDistance.SYS} and _nearness(gpu, nic) == max(
        _nearness(gpu, other) for other in topology.nics
    )


def _nearness(gpu: PciPlace, nic: Nic) -> tuple[int, bool]:
    return shared_depth(gpu.path, nic.place.path), pci_distance(gpu, nic.place) is not PciDistance.SYS
