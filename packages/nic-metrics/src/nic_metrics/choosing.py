"""Which ports to sample: those that this process's transfers use. Pure: a topology and an environment go in.

What says so, in this order; the first that is there decides:

1. the caller: devices by name, a function, or a policy that the caller pins by;
2. `MX_RDMA_NIC_PIN`, from which modelexpress sets `UCX_NET_DEVICES`, over what stood there;
3. `UCX_NET_DEVICES`, UCX's list of the devices it may use;
4. nothing: then UCX chooses, and which NIC it is can't be known from outside. "The busiest of these" is a guess on the safe side
   for callers who ask for it.
"""

from collections.abc import Callable, Iterable, Mapping

from nic_metrics.affinity import AffinityPolicy, affinity_map
from nic_metrics.errors import NicChoiceError
from nic_metrics.nic_choice import ChoiceOrigin, Combination, NicChoice, NoNicReason, parse_nics
from nic_metrics.pci import normalize_pci_address
from nic_metrics.ports import PortId
from nic_metrics.topology import Topology

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


def choose_nics(
    topology: Topology,
    environ: Mapping[str, str],
    *,
    gpu: str | None = None,
    cuda_index: int | None = None,
    devices: str | Iterable[str | PortId] | None = None,
    resolver: Callable[[], str | Iterable[str | PortId]] | None = None,
    pinned_by: AffinityPolicy | None = None,
    busiest_of: str | Iterable[str | PortId] | None = None,
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
        usable = sum(nic.verbs is True for nic in topology.nics)
        detail = f"{len(topology.nics)} RDMA devices, {usable} with a verbs node, and {len(topology.gpus)} GPUs"
        return _none(NoNicReason.NO_ELIGIBLE_NIC, f"the map {policy} finds no eligible NIC among {detail}")
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


def _joined(names: str | Iterable[str | PortId]) -> str:
    if isinstance(names, str):
        return names
    return ",".join(name if isinstance(name, str) else f"{name.device}:{name.port}" for name in names)


def _chosen(ports: tuple[PortId, ...], origin: ChoiceOrigin, detail: str) -> NicChoice:
    return NicChoice(ports, origin, None, Combination.RAILS, detail)


def _none(reason: NoNicReason, detail: str) -> NicChoice:
    return NicChoice((), None, reason, Combination.RAILS, detail)
