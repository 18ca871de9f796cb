"""Which NIC belongs to which GPU: policies by name, each a pure function of a topology.

Every rank of a machine that asks the same policy about the same topology gets the same map, without talking to the others.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum

from nic_metrics._matching import cheapest
from nic_metrics.pci import PciPlace, shared_depth
from nic_metrics.ports import PortId, natural_order
from nic_metrics.topology import Nic, Topology

# modelexpress doesn't see PCI domains of more than four digits, nor where a device hangs that isn't on PCI itself.
_ITS_COMPONENT = re.compile(r"pci[0-9a-f]{4}:[0-9a-f]{2}|[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]", re.ASCII)


class AffinityPolicy(StrEnum):
    """How GPUs and NICs are brought together."""

    MODELEXPRESS = "modelexpress"
    """What modelexpress 0.7.0 pins by: GPU after GPU, the least taken NIC first, then the closest."""

    BALANCED_THEN_CLOSEST = "balanced_then_closest"
    """No NIC has more than one GPU more than another, and of all such maps the closest. For those who pin by it too."""


def affinity_map(
    topology: Topology, policy: AffinityPolicy, *, min_rate_gbps: float | None = None
) -> Mapping[str, PortId]:
    """Give each GPU of a machine its NIC's port.

    Args:
        topology: The machine.
        policy: How to bring them together.
        min_rate_gbps: Slowest port that counts, in Gb/s; None for the fastest rate that there is, which leaves out slower
            NICs for management and storage.

    Returns:
        The port of each GPU's address; empty when no NIC is eligible.
    """
    return _POLICIES[policy](topology, min_rate_gbps)


def _modelexpress(topology: Topology, min_rate_gbps: float | None) -> Mapping[str, PortId]:
    """Map as modelexpress 0.7.0 does (its `probe_nic_pin_for_device`), whatever one may think of the outcome.

    Eligible are devices without "bond" in their names that have a verbs node and a port 1 whose rate begins with a number, in
    whatever unit.
    """
    rated = [(nic, rate) for nic in topology.nics if (rate := _its_rate(nic)) is not None]
    if not rated:
        return {}
    threshold = max(rate for _, rate in rated) if min_rate_gbps is None else min_rate_gbps
    nics = [(nic, _its_path(nic.place)) for nic, rate in rated if not rate < threshold]
    taken = {nic.device: 0 for nic, _ in nics}
    best = {
        gpu.address: max((shared_depth(_its_path(gpu), path) for _, path in nics), default=0) for gpu in topology.gpus
    }
    chosen: dict[str, PortId] = {}
    for gpu in sorted(topology.gpus, key=lambda gpu: (-best[gpu.address], str(gpu.address))) if nics else ():
        path = _its_path(gpu)
        *_, device = min(
            (taken[nic.device], -shared_depth(path, nic_path), _cross_socket(gpu, nic.place), nic.device)
            for nic, nic_path in nics
        )
        taken[device] += 1
        chosen[str(gpu.address)] = PortId(device)
    return dict(sorted(chosen.items()))


def _balanced_then_closest(topology: Topology, min_rate_gbps: float | None) -> Mapping[str, PortId]:
    """Share the GPUs out evenly, and of all even maps take the closest: most shared PCIe depth, then fewest across sockets.

    Where several are equally close it is the first, GPUs in order of address and NICs in natural order of name. Eligible are
    devices, bonds too, with a verbs node and a port that states a rate and isn't down.
    """
    rated = [
        (nic.place, port.id, port.rate.bits_per_second)
        for nic in topology.nics
        for port in nic.ports
        if nic.verbs and port.rate is not None and port.active is not False
    ]
    threshold = max((rate for *_, rate in rated), default=0) if min_rate_gbps is None else min_rate_gbps * 1e9
    ports = [(place, port) for place, port, rate in rated if rate >= threshold]
    if not ports or not topology.gpus:
        return {}
    ports.sort(key=lambda pair: (natural_order(pair[1].device), pair[1].port))
    # Every port has its even share of places, and one more that costs more than all else together: only the rest takes those.
    share = len(topology.gpus) // len(ports)
    places = [(number, beyond) for number in range(len(ports)) for beyond in (*[False] * share, True)]
    costs = _costs(topology.gpus, ports, places)
    columns = cheapest(costs)
    return {str(gpu.address): ports[places[column][0]][1] for gpu, column in zip(topology.gpus, columns, strict=True)}


def _costs(
    gpus: Sequence[PciPlace], ports: Sequence[tuple[PciPlace, PortId]], places: Sequence[tuple[int, bool]]
) -> list[list[int]]:
    """Put a number on each GPU in each place: one whole number, whose higher digits are the more important reasons.

    The sum over all GPUs then compares like a tuple: places beyond the even share, depth, sockets, and the order of names.
    """
    order = len(ports) ** len(gpus)
    socket = order
    depth = socket * (len(gpus) + 1)
    deepest = max(len(gpu.path) for gpu in gpus)
    extra = depth * (deepest * len(gpus) + 1)
    costs = []
    for index, gpu in enumerate(gpus):
        unit = len(ports) ** (len(gpus) - 1 - index)
        of_port = [
            (deepest - shared_depth(gpu.path, place.path)) * depth + _cross_socket(gpu, place) * socket + number * unit
            for number, (place, _) in enumerate(ports)
        ]
        costs.append([of_port[number] + extra * beyond for number, beyond in places])
    return costs


_POLICIES: Mapping[AffinityPolicy, Callable[[Topology, float | None], Mapping[str, PortId]]] = {
    AffinityPolicy.MODELEXPRESS: _modelexpress,
    AffinityPolicy.BALANCED_THEN_CLOSEST: _balanced_then_closest,
}


def _its_rate(nic: Nic) -> float | None:
    if "bond" in nic.device or not nic.verbs or all(port.id.port != 1 for port in nic.ports):
        return None
    try:
        return float((nic.rate_text or "").split()[0])
    except (ValueError, IndexError):
        return None


def _its_path(place: PciPlace) -> list[str]:
    return [part for part in place.path if place.address is not None and _ITS_COMPONENT.fullmatch(part)]


def _cross_socket(gpu: PciPlace, nic: PciPlace) -> bool:
    return gpu.numa_node is not None and nic.numa_node is not None and gpu.numa_node != nic.numa_node
