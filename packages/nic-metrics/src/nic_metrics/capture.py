"""Copying what sysfs says of a machine's NICs into a tree that reads like it: a report of a fault that others can replay.

Files that tell nothing of the NICs' load or place aren't copied. GIDs, GUIDs and LIDs are replaced, the same by the same wherever it
stands, and so is what a node is called.
"""

import errno
import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from nic_metrics._aliases import Aliases
from nic_metrics._reading import read_text
from nic_metrics.errors import NicMetricsError
from nic_metrics.ports import list_ports

__all__ = ["Capture", "CaptureError", "capture_tree"]

# What is known to hold nothing private, or to be replaced. Whatever a later kernel adds is left out.
_DEVICE_FILES = ("board_id", "fw_ver", "hca_type", "hw_rev", "node_desc", "node_guid", "node_type", "sys_image_guid")
_DEVICE_FOLDERS = ("hw_counters",)
_PORT_FILES = ("cap_mask", "lid", "lid_mask_count", "link_layer", "phys_state", "rate", "sm_lid", "sm_sl", "state")
_PORT_FOLDERS = ("counters", "counters_ext", "hw_counters")
_GID_ATTRIBUTES = ("gid_attrs/ndevs", "gid_attrs/types")
_PCI_FILES = (
    "class",
    "current_link_speed",
    "current_link_width",
    "device",
    "local_cpulist",
    "max_link_speed",
    "max_link_width",
    "numa_node",
    "sriov_numvfs",
    "subsystem_device",
    "subsystem_vendor",
    "vendor",
)
_LIDS = frozenset({"lid", "sm_lid"})
_NVIDIA = "0x10de"
_DISPLAY = "0x03"


class CaptureError(NicMetricsError):
    """The directory for a captured tree can't be used.

    What to do: name a directory that is empty or doesn't exist.
    """


@dataclass(frozen=True, slots=True)
class Capture:
    """What was captured.

    Attributes:
        directory: The tree: what stands for `/sys`.
        devices: Names of the RDMA devices in it, as they are called there.
        gpus: How many GPUs are in it.
        files: How many files were written.
        replaced: How many addresses got other names.
        unreadable: Files that are missing because reading them failed, each with why.
    """

    directory: Path
    devices: tuple[str, ...]
    gpus: int
    files: int
    replaced: int
    unreadable: tuple[tuple[str, str], ...]


def capture_tree(
    directory: str | os.PathLike[str],
    *,
    sys_root: str | os.PathLike[str] = "/sys",
    devices: Collection[str] | None = None,
) -> Capture:
    """Copy what sysfs says of the RDMA devices and GPUs, each file once, as it stands now.

    Args:
        directory: Where to write; created, or empty.
        sys_root: What stands for `/sys`.
        devices: The only RDMA devices to look at; None for all. Nothing of any other is read.

    Raises:
        CaptureError: `directory` isn't empty, or it can't be written to.
        OSError: The class directory exists and can't be listed.
    """
    target = Path(directory)
    try:
        target.mkdir(parents=True, exist_ok=True)
        if any(target.iterdir()):
            raise CaptureError(f"{target} isn't empty: name a directory that is, or one that doesn't exist")
        return _Copy(Path(sys_root), target).all(devices)
    except OSError as error:
        if error.filename is None or not Path(error.filename).is_relative_to(target):
            raise
        raise CaptureError(f"{error.filename} can't be written: {error.strerror}") from error


class _Copy:
    """One copy of one machine."""

    def __init__(self, root: Path, target: Path) -> None:
        self._root, self._target = root, target
        self._real_root = root.resolve()
        self._aliases = Aliases()
        self._files = 0
        self._unreadable: list[tuple[str, str]] = []

    def all(self, devices: Collection[str] | None) -> Capture:
        inventory = list_ports(self._root / "class/infiniband", devices=devices)
        names = dict.fromkeys([port.id.device for port in inventory.ports])
        for name in [*names, *(skipped.device for skipped in inventory.skipped)]:
            self._device(name)
        gpus = [entry.name for entry in _entries(self._root / "bus/pci/devices") if _is_gpu(entry)]
        for gpu in gpus:
            self._pci(gpu)
        return Capture(
            self._target,
            tuple(map(self._aliases.device, names)),
            len(gpus),
            self._files,
            len(self._aliases),
            tuple(self._unreadable),
        )

    def _device(self, name: str) -> None:
        entry, alias = self._root / "class/infiniband" / name, self._aliases.device(name)
        link = self._target / "class/infiniband" / alias
        link.parent.mkdir(parents=True, exist_ok=True)
        if not entry.exists():
            link.symlink_to("../../devices/not-captured")
            return
        inside = self._inside(entry)
        copy = self._target / inside.with_name(alias)
        copy.mkdir(parents=True, exist_ok=True)
        if copy != link:
            link.symlink_to(os.path.relpath(copy, link.parent))
        self._copy(entry, copy, _DEVICE_FILES, _DEVICE_FOLDERS)
        for port in _entries(entry / "ports"):
            self._copy(port, copy / "ports" / port.name, _PORT_FILES, _PORT_FOLDERS)
            self._gids(port, copy / "ports" / port.name)
        self._place(entry / "device", copy / "device")

    def _place(self, device: Path, link: Path) -> None:
        """Copy the device that an RDMA device belongs to: one on PCI, or of another bus, such as virtio's, below one on PCI."""
        if not device.exists():
            return
        real = device.resolve()
        place = self._pci(real.name)
        if place is None:
            place = self._target / self._inside(device) if device.is_symlink() else link
            place.mkdir(parents=True, exist_ok=True)
            self._copy(device, place, _PCI_FILES, ())
        if place != link:
            # Ending in the name, which readers take from it, although it leads upwards.
            link.symlink_to(f"{os.path.relpath(place.parent, link.parent)}/{real.name}")
        for node in _entries(device / "infiniband_verbs"):
            if node.name.startswith("uverbs"):
                (place / "infiniband_verbs" / node.name).mkdir(parents=True, exist_ok=True)

    def _pci(self, address: str) -> Path | None:
        """Copy a PCI device and return where to; None when there is none of this address."""
        entry = self._root / "bus/pci/devices" / address
        if not entry.exists():
            return None
        link, place = self._target / "bus/pci/devices" / address, self._target / self._inside(entry)
        if not link.exists():
            link.parent.mkdir(parents=True, exist_ok=True)
            place.mkdir(parents=True, exist_ok=True)
            if place != link:
                link.symlink_to(os.path.relpath(place, link.parent))
            self._copy(entry, place, _PCI_FILES, ())
        return place

    def _inside(self, entry: Path) -> Path:
        """Return where an entry really is, relative to the root; as it is called where that is elsewhere."""
        real = entry.resolve()
        return (
            real.relative_to(self._real_root) if real.is_relative_to(self._real_root) else entry.relative_to(self._root)
        )

    def _copy(self, source: Path, copy: Path, files: Collection[str], folders: Collection[str]) -> None:
        paths = [source / name for name in files]
        paths += [path for name in folders for path in _entries(source / name)]
        for path in paths:
            self._write(copy / path.relative_to(source), self._read(path))

    def _gids(self, port: Path, copy: Path) -> None:
        """Copy the GIDs that are in use; a port has hundreds of places, and most answer with an error."""
        for path in _entries(port / "gids"):
            gid = self._read(path)
            if gid is None or not gid.strip("0:\n"):
                continue
            self._write(copy / "gids" / path.name, gid)
            for name in _GID_ATTRIBUTES:
                self._write(copy / name / path.name, self._read(port / name / path.name))

    def _write(self, copy: Path, text: str | None) -> None:
        if text is None:
            return
        if copy.name in _LIDS:
            text = self._aliases.lid(text.strip()) + "\n"
        elif copy.name == "node_desc":
            text = "captured\n"
        elif copy.parent.name == "ndevs":
            text = self._aliases.device(text.strip()) + "\n"
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(self._aliases.addresses(text))
        self._files += 1

    def _read(self, path: Path) -> str | None:
        try:
            file = os.open(path, _FLAGS)
            try:
                return os.read(file, _MOST_BYTES).decode("utf-8", "replace")
            finally:
                os.close(file)
        except OSError as error:
            if error.errno not in _NOT_THERE:
                shown = map(self._aliases.device, path.relative_to(self._root).parts)
                self._unreadable.append(("/".join(shown), error.strerror or str(error)))
            return None


def _entries(directory: Path) -> Iterator[Path]:
    try:
        return iter(sorted(directory.iterdir()))
    except OSError:
        return iter(())


def _is_gpu(device: Path) -> bool:
    kind = read_text(device / "class")
    return read_text(device / "vendor") == _NVIDIA and kind is not None and kind.startswith(_DISPLAY)


# A FIFO in a tree that somebody made must not make the caller wait for a writer.
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
# An attribute that a driver doesn't have, or a folder among the files.
_NOT_THERE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EISDIR})
# As much as sysfs ever tells at once.
_MOST_BYTES = 4096
