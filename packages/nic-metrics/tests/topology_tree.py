"""A `/sys` and a `/dev` in a temporary directory, with the GPUs and RDMA devices that a test puts there, linked as in the kernel's."""

import os
from collections.abc import Sequence
from pathlib import Path


class TopologyTree:
    """Writes PCI devices below `sys/devices`, with links to them from the bus and the class."""

    def __init__(self, root: Path) -> None:
        self.sys = root / "sys"
        self.dev = root / "dev"
        (self.sys / "bus/pci/devices").mkdir(parents=True)
        (self.sys / "class/infiniband").mkdir(parents=True)
        (self.dev / "infiniband").mkdir(parents=True)

    def pci(
        self, path: Sequence[str], numa: int | None, *, vendor: str = "0x15b3", pci_class: str = "0x020700"
    ) -> Path:
        """Write a device; its address is the last of its path. Its bridges are listed on the bus as well."""
        directory = self.sys / "devices"
        for part in path:
            directory /= part
            if not directory.is_dir():
                directory.mkdir(parents=True)
                if not part.startswith("pci"):
                    link = self.sys / "bus/pci/devices" / part
                    link.symlink_to(os.path.relpath(directory, link.parent))
        (directory / "vendor").write_text(f"{vendor}\n")
        (directory / "class").write_text(f"{pci_class}\n")
        if numa is not None:
            (directory / "numa_node").write_text(f"{numa}\n")
        return directory

    def gpu(self, *path: str, numa: int | None = 0, pci_class: str = "0x030200") -> None:
        """Write an NVIDIA GPU."""
        self.pci(path, numa, vendor="0x10de", pci_class=pci_class)

    def nic(
        self,
        name: str,
        *path: str,
        numa: int | None = 0,
        rate: str | None = "400 Gb/sec (4X NDR)\n",
        state: str = "4: ACTIVE\n",
        verbs: bool = True,
        ports: Sequence[int] = (1,),
        below: str | None = None,
    ) -> None:
        """Write an RDMA device.

        `verbs` says whether its node, which sysfs lists in any case, is in `/dev`; `below` is a device of another bus that it
        belongs to, on the device at the path.
        """
        device = self.pci(path, numa)
        if below is not None:
            device /= below
        entry = device / "infiniband" / name
        for port in ports:
            directory = entry / "ports" / str(port)
            directory.mkdir(parents=True)
            (directory / "state").write_text(state)
            (directory / "link_layer").write_text("InfiniBand\n")
            if rate is not None:
                (directory / "rate").write_text(rate)
        node = f"uverbs{len(list((self.sys / 'class/infiniband').iterdir()))}"
        (device / "infiniband_verbs" / node).mkdir(parents=True)
        if verbs:
            (self.dev / "infiniband" / node).touch()
        # As the kernel writes it: up to the bus that the device hangs on, and down by its name.
        (entry / "device").symlink_to(f"{os.path.relpath(device.parent, entry)}/{device.name}")
        link = self.sys / "class/infiniband" / name
        link.symlink_to(os.path.relpath(entry, link.parent))
