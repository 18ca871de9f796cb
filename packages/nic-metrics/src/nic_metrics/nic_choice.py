"""Which ports to sample: those that this process's transfers use. Pure: a topology and an environment go in.

What says so, in this order; the first that is there decides:

1. the caller: devices by name, a function, or a policy that the caller pins by;
2. `MX_RDMA_NIC_PIN`, from which modelexpress sets `UCX_NET_DEVICES`, over what stood there;
3. `UCX_NET_DEVICES`, UCX's list of the devices it may use;
4. nothing: then UCX chooses, and which NIC it is can't be known from outside. "The busiest of these" is a guess on the safe side
   for callers who ask for it.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from nic_metrics.affinity import AffinityPolicy, affinity_map
from nic_metrics.combining import busiest, combine_rails
from nic_metrics.errors import NicChoiceError, PortIdError
from nic_metrics.pci import normalize_pci_address
from nic_metrics.ports import PortId
from nic_metrics.topology import Topology
from nic_metrics.utilization import Utilization

PIN_VARIABLE = "MX_RDMA_NIC_PIN"
PIN_MIN_RATE_VARIABLE = "MX_RDMA_NIC_PIN_MIN_RATE_GBPS"
UCX_VARIABLE = "UCX_NET_DEVICES"
UCX_RAILS_VARIABLE = "UCX_MAX_RMA_RAILS"

_PIN_OFF = frozenset({"", "off", "0", "false", "no"})
# NIXL's setting where the environment has none.
_RAILS = 2
# UCX's word for every device, and what newer releases may read as a pattern or as all but these.
_ALL = "all"
_PATTERN = frozenset("^*?[]")


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


def choose_nics(
    topology: Topology,
    environ: Mapping[str, str],
    *,
    gpu: str | None = None,
    cuda_index: int | None = None,
    devices: str | Iterable[str] | None = None,
    resolver: Callable[[], str | Iterable[str]] | None = None,
    pinned_by: AffinityPolicy | None = None,
    busiest_of: str | Iterable[str] | None = None,
) -> NicChoice:
    """Choose the ports to sample: those that transfers use.

    Args:
        topology: The machine.
        environ: The environment of the process that transfers, such as `os.environ`.
        gpu: PCI address of the GPU that this process drives; None when unknown. From `cuda_address` with torch, from `cuda_gpus`
            without.
        cuda_index: The worker's CUDA index, by which `MX_RDMA_NIC_PIN` takes one of a list.
        devices: The ports themselves, such as `mlx5_0:1`; several are rails.
        resolver: Gives the ports when called, now; several are rails. What it raises is raised.
        pinned_by: The policy that the caller pins by.
        busiest_of: Ports to take the busiest of when nothing says which are used.

    Raises:
        NicChoiceError: Two of `devices`, `resolver` and `pinned_by` are given, or a list that the caller gives names no port.
        PciAddressError: `gpu` is no PCI address.
    """
    if sum(given is not None for given in (devices, resolver, pinned_by)) > 1:
        raise NicChoiceError("devices, resolver and pinned_by each say which NIC transfers use: give one of them")
    if resolver is not None:
        devices = resolver()
    if devices is not None:
        named = _joined(devices)
        return _chosen(parse_nics(named), ChoiceOrigin.CALLER, f"the caller names {named}")
    address = None if gpu is None else normalize_pci_address(gpu)
    if pinned_by is not None:
        choice = _by_map(topology, pinned_by, address, None, ChoiceOrigin.POLICY)
    else:
        choice = _by_environment(topology, environ, address, cuda_index)
    if choice.reason is None or busiest_of is None:
        return choice
    named = _joined(busiest_of)
    detail = f"{choice.detail}; the busiest of {named} instead"
    return NicChoice(parse_nics(named), ChoiceOrigin.BUSIEST_OF, None, Combination.BUSIEST, detail)


def _by_environment(
    topology: Topology, environ: Mapping[str, str], gpu: str | None, cuda_index: int | None
) -> NicChoice:
    pin = environ.get(PIN_VARIABLE, "").strip()
    allowed = environ.get(UCX_VARIABLE, "").strip()
    nothing = _none(NoNicReason.TRANSPORT_CHOOSES, f"neither {PIN_VARIABLE} nor {UCX_VARIABLE} pins: UCX chooses")
    if "," in pin:
        # By CUDA index, empty entries left out, and each read as UCX's list: so does modelexpress.
        entries = [part.strip() for part in pin.split(",") if part.strip()]
        if cuda_index is None:
            return _none(NoNicReason.GPU_UNKNOWN, f"{PIN_VARIABLE}={pin} is by CUDA index, which isn't known")
        if 0 <= cuda_index < len(entries):
            detail = f"{PIN_VARIABLE}={pin}, entry {cuda_index}"
            return _by_list(topology, entries[cuda_index], environ, ChoiceOrigin.MX_RDMA_NIC_PIN, detail)
    elif pin.lower() not in _PIN_OFF:
        # Everything else is "auto", the name of a single device too: without a comma it's no list.
        nothing = _by_map(topology, AffinityPolicy.MODELEXPRESS, gpu, _min_rate(environ), ChoiceOrigin.MX_RDMA_NIC_PIN)
        if nothing.reason is not NoNicReason.NO_ELIGIBLE_NIC:
            return nothing
    # Where modelexpress finds nothing to pin to, it leaves UCX's list as it is.
    if not allowed:
        return nothing
    return _by_list(topology, allowed, environ, ChoiceOrigin.UCX_NET_DEVICES, f"{UCX_VARIABLE}={allowed}")


def _by_list(
    topology: Topology, allowed: str, environ: Mapping[str, str], origin: ChoiceOrigin, detail: str
) -> NicChoice:
    """Take the RDMA ports out of what UCX may use: a list that may name network interfaces as well."""
    entries = [part.strip() for part in allowed.split(",")]
    if _ALL in entries:
        return _none(NoNicReason.TRANSPORT_CHOOSES, f"{detail}: UCX chooses")
    if _PATTERN.intersection(allowed):
        return _none(NoNicReason.SETTING_UNREADABLE, f"{detail} is no list of names")
    known = {nic.device for nic in topology.nics}
    rdma = [entry for entry in entries if entry.partition(":")[0] in known]
    if not rdma:
        return _none(NoNicReason.NOT_RDMA, f"{detail} names no RDMA device of this machine")
    try:
        ports = parse_nics(",".join(rdma))
    except NicChoiceError:
        return _none(NoNicReason.SETTING_UNREADABLE, f"{detail} names something that is no port")
    setting = environ.get(UCX_RAILS_VARIABLE, "")
    rails = int(setting) if setting.isascii() and setting.isdigit() else _RAILS
    if len(ports) <= rails:
        return _chosen(ports, origin, detail)
    # UCX uses some of them; the capacity of the others must not make these look idle.
    return NicChoice(ports, origin, None, Combination.BUSIEST, f"{detail}, of which UCX uses {rails} at a time")


def _by_map(
    topology: Topology, policy: AffinityPolicy, gpu: str | None, min_rate_gbps: float | None, origin: ChoiceOrigin
) -> NicChoice:
    if gpu is None:
        return _none(
            NoNicReason.GPU_UNKNOWN, f"the map {policy} is by GPU, and which one this process drives isn't known"
        )
    ports = affinity_map(topology, policy, min_rate_gbps=min_rate_gbps)
    if not ports:
        return _none(NoNicReason.NO_ELIGIBLE_NIC, f"the map {policy} finds no eligible NIC")
    if gpu not in ports:
        return _none(NoNicReason.GPU_UNKNOWN, f"the map {policy} has no GPU at {gpu}: hand it to read_topology")
    port = ports[gpu]
    return _chosen((port,), origin, f"the map {policy} gives {gpu} {port.device}:{port.port}")


def _min_rate(environ: Mapping[str, str]) -> float | None:
    """Read the pin's slowest rate in Gb/s; what is no number counts as not set, as for modelexpress."""
    try:
        return float(environ.get(PIN_MIN_RATE_VARIABLE, ""))
    except ValueError:
        return None


def _joined(names: str | Iterable[str]) -> str:
    return names if isinstance(names, str) else ",".join(names)


def _chosen(ports: tuple[PortId, ...], origin: ChoiceOrigin, detail: str) -> NicChoice:
    return NicChoice(ports, origin, None, Combination.RAILS, detail)


def _none(reason: NoNicReason, detail: str) -> NicChoice:
    return NicChoice((), None, reason, Combination.RAILS, detail)
