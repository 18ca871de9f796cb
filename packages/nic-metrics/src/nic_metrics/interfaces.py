"""What nic_metrics consumes from others: only the shapes, so that nothing of theirs is imported."""

from collections.abc import Mapping
from typing import Protocol

from nic_metrics.ports import PortId
from nic_metrics.signals import SignalReading


class CudaProperties(Protocol):
    """The three numbers that torch's `torch.cuda.get_device_properties(index)` gives of a GPU's place."""

    @property
    def pci_domain_id(self) -> int:
        """The PCI domain."""

    @property
    def pci_bus_id(self) -> int:
        """The PCI bus."""

    @property
    def pci_device_id(self) -> int:
        """The number on the bus."""


class PortStatistics(Protocol):
    """Gives the counters of ports that no file shows."""

    def read(self, port: PortId) -> tuple[int, Mapping[str, int]] | None:
        """Read a port's counters now.

        Returns:
            A number that changes when another device takes over the name, and the counters by the kernel's names; None when they
            can't be read.
        """

    def knows(self, port: PortId) -> bool:
        """Tell whether the port's device is there, even where its counters couldn't be read just now."""

    def enable(self) -> None:
        """Ask again for ports that were refused."""

    def close(self) -> None:
        """Let go of what is held open; the next read opens it again."""


class Signal(Protocol):
    """Something that tells a load. May be read by several threads at once."""

    def read(self) -> SignalReading:
        """Tell the load as it is known now. Must not wait for anybody."""

    def close(self) -> None:
        """Let go of what is held. May be called again."""
