"""What a choice of the ports to sample is: the ports, what named them, or why they can't be told."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from nic_metrics.combining import busiest, combine_rails
from nic_metrics.errors import NicChoiceError, PortIdError
from nic_metrics.ports import PortId
from nic_metrics.utilization import Utilization


class ChoiceOrigin(StrEnum):
    """What named the ports."""

    CALLER = "caller"
    """Devices or a function that the caller gave."""

    POLICY = "policy"
    """A policy that the caller pins by."""

    MX_RDMA_NIC_PIN = "mx_rdma_nic_pin"
    """The environment: modelexpress pins."""

    UCX_NET_DEVICES = "ucx_net_devices"
    """The environment: UCX is told."""

    BUSIEST_OF = "busiest_of"
    """Nothing named them; the caller wants the busiest of some."""


class NoNicReason(StrEnum):
    """Why it can't be told which ports transfers use."""

    TRANSPORT_CHOOSES = "transport_chooses"
    """Nothing is pinned, or all devices are allowed: UCX decides."""

    GPU_UNKNOWN = "gpu_unknown"
    """The pin depends on the GPU, and which one this process drives isn't known."""

    NO_ELIGIBLE_NIC = "no_eligible_nic"
    """The policy has no NIC to give: none has a verbs node, a rate and a port."""

    NOT_RDMA = "not_rdma"
    """The devices that are named aren't RDMA devices of this machine: network interfaces, or devices that aren't there."""

    SETTING_UNREADABLE = "setting_unreadable"
    """A variable has a form whose meaning isn't known, such as a pattern."""


class Combination(StrEnum):
    """How several ports become one number."""

    RAILS = "rails"
    """They share the traffic: `combine_rails`."""

    BUSIEST = "busiest"
    """Any of them may carry it: `busiest`."""


@dataclass(frozen=True, slots=True)
class NicChoice:
    """Which ports to sample, or why that is unknown: `reason` is None exactly when there is a port.

    Attributes:
        ports: The ports; empty when unknown.
        origin: What named them; None when nothing did.
        reason: Why there is none.
        combination: How several become one number.
        detail: What was looked at, for people.
    """

    ports: tuple[PortId, ...]
    origin: ChoiceOrigin | None
    reason: NoNicReason | None
    combination: Combination
    detail: str

    def combine(self, samples: Mapping[PortId, Utilization]) -> Utilization | None:
        """Make one of what `PortSampler.sample` gave of these ports; None when which ports to look at is unknown.

        Args:
            samples: At least this choice's ports.

        Raises:
            KeyError: One of the ports wasn't sampled.
        """
        if not self.ports:
            return None
        of_ports = [samples[port] for port in self.ports]
        return combine_rails(of_ports) if self.combination is Combination.RAILS else busiest(of_ports)


def parse_nics(text: str) -> tuple[PortId, ...]:
    """Read a list of ports as UCX writes it: `mlx5_0:1,mlx5_1:1`; port 1 where none is named. Each counts once.

    Raises:
        NicChoiceError: An entry is no port, or there is none.
    """
    ports: dict[PortId, None] = {}
    for entry in filter(None, (part.strip() for part in text.split(","))):
        device, _, number = entry.partition(":")
        try:
            ports[PortId(device, int(number) if number else 1)] = None
        except (PortIdError, ValueError) as error:
            raise NicChoiceError(
                f"{entry!r} in {text!r} is no port: give a list such as 'mlx5_0:1,mlx5_1:1'"
            ) from error
    if not ports:
        raise NicChoiceError(f"{text!r} names no port: give a list such as 'mlx5_0:1,mlx5_1:1'")
    return tuple(ports)
