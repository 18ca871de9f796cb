"""Where devices sit in the PCIe tree, and how far apart two of them are.

A place is the chain of sysfs names from the root complex down to the device: two devices that share more of it are closer. The
root complex is part of the chain, because a machine's devices may share that and nothing else.
"""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from nic_metrics._reading import read_text
from nic_metrics.errors import PciAddressError

DEFAULT_SYS_ROOT = Path("/sys")
"""Where Linux shows its devices."""

# NVML writes the domain with eight digits, tools leave it out, and domains of more than four digits exist.
_ADDRESS = re.compile(
    r"(?:(?P<domain>[0-9a-f]{1,8}):)?(?P<bus>[0-9a-f]{1,2}):(?P<device>[0-9a-f]{1,2})\.(?P<function>[0-7])", re.ASCII
)
_COMPONENT = re.compile(r"pci[0-9a-f]{4,}:[0-9a-f]{2}|[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]", re.ASCII)


@dataclass(frozen=True, slots=True)
class PciPlace:
    """Where a device sits.

    Attributes:
        address: Its PCI address, such as `0000:0f:00.0`; None for a device that isn't on PCI itself.
        path: The root complex (`pci0000:00`), the bridges and the device, from the root down, as far as they are on PCI; empty when
            unknown.
        numa_node: Number of its NUMA node, from 0; None when the kernel doesn't know.
    """

    address: str | None
    path: tuple[str, ...] = ()
    numa_node: int | None = None


class PciDistance(StrEnum):
    """How far apart two devices are, in the words of `nvidia-smi topo -m`, the closest first."""

    PIX = "PIX"
    """Through a single bridge or switch."""

    PXB = "PXB"
    """Through several bridges, but not the root complex."""

    PHB = "PHB"
    """Through the root complex that both hang on."""

    NODE = "NODE"
    """On different root complexes of one NUMA node."""

    SYS = "SYS"
    """On different NUMA nodes."""


def normalize_pci_address(text: str) -> str:
    """Write a PCI address as sysfs does: `0000:0f:00.0`, in lower case.

    Args:
        text: The address as sysfs, CUDA (`0F:00.0`) or NVML (`00000000:0F:00.0`) write it.

    Raises:
        PciAddressError: It is no PCI address.
    """
    match = _ADDRESS.fullmatch(text.strip().lower())
    if match is None:
        raise PciAddressError(text)
    domain, bus, device = (int(match[part] or "0", 16) for part in ("domain", "bus", "device"))
    return f"{domain:04x}:{bus:02x}:{device:02x}.{match['function']}"


def read_pci_place(address: str, sys_root: str | os.PathLike[str] = DEFAULT_SYS_ROOT) -> PciPlace:
    """Read where a PCI device sits; path and NUMA node stay unknown when there is no such device.

    Args:
        address: The address as sysfs writes it.
        sys_root: What stands for `/sys`.
    """
    device = Path(sys_root, "bus/pci/devices", address)
    return PciPlace(address, read_path(device), read_numa_node(device))


def read_path(device: Path) -> tuple[str, ...]:
    """Read the chain of a device's directory from the root complex down; empty when it can't be read."""
    try:
        real = device.resolve(strict=True)
    except (OSError, RuntimeError):
        return ()
    return tuple(part for part in real.parts if _COMPONENT.fullmatch(part))


def read_numa_node(device: Path) -> int | None:
    """Read the NUMA node in a device's directory; None when it can't be read or the kernel says -1."""
    try:
        node = int(read_text(device / "numa_node") or "")
    except ValueError:
        return None
    return node if node >= 0 else None


def shared_depth(one: Sequence[str], other: Sequence[str]) -> int:
    """Count how many components two paths share from the root complex down: 0 on different root complexes."""
    depth = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        depth += 1
    return depth


def pci_distance(one: PciPlace, other: PciPlace) -> PciDistance | None:
    """Tell how far apart two devices are; None when sysfs doesn't say.

    Two devices below one switch have a port of it and themselves below what they share.
    """
    if not one.path or not other.path:
        return None
    depth = shared_depth(one.path, other.path)
    if depth > 1:
        below = max(len(one.path), len(other.path)) - depth
        return PciDistance.PIX if below <= _BELOW_ONE_SWITCH else PciDistance.PXB
    if depth == 1:
        return PciDistance.PHB
    if one.numa_node is None or other.numa_node is None:
        return None
    return PciDistance.NODE if one.numa_node == other.numa_node else PciDistance.SYS


_BELOW_ONE_SWITCH = 2
