"""`nic-metrics list`: the RDMA devices and ports of a machine, and how they lie to its GPUs."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from nic_metrics.affinity import AffinityPolicy, affinity_map
from nic_metrics.cli._output import print_columns, print_json
from nic_metrics.cli._ports import DEFAULT_SYSFS, class_directory
from nic_metrics.cli._topology import nearest_gpus, numbers, topology_below
from nic_metrics.pci import PciPlace, pci_distance
from nic_metrics.ports import CodedState, Port, PortId
from nic_metrics.topology import Nic, Topology

LIST_SCHEMA = "nic-metrics.list/1"
TOPO_SCHEMA = "nic-metrics.topo/1"
_TITLES = ("DEVICE", "PORT", "LINK", "STATE", "LAYER", "PCI", "NUMA", "VERBS", "GPU", "REASON")
_Pins = Mapping[AffinityPolicy, Mapping[str, PortId]]


def run_list(
    *,
    topo: bool = False,
    root: Path = DEFAULT_SYSFS,
    json_lines: Annotated[bool, Parameter(name="--json")] = False,
) -> int:
    """List RDMA devices and ports, and which of them is nearest to each GPU.

    GPU numbers are in order of PCI addresses, of every NVIDIA GPU in sysfs.
    VERBS says whether this process could use the device; below another --root,
    whether anybody could. Exits 1 when there is no device, or for --topo no GPU.

    Args:
        topo: Print a line for each GPU: how far each device is (PIX: one switch, PXB: several bridges, PHB: the root complex,
            NODE: the NUMA node, SYS: between NUMA nodes), and the port that each policy gives it.
        root: What stands for /sys: the host's, mounted elsewhere, or a tree that was captured.
        json_lines: Print one JSON object a port, or with --topo a GPU.
    """
    topology = topology_below(root)
    if not topology.nics:
        sys.stderr.write(f"nic-metrics: there is no RDMA device in {class_directory(root)}\n")
    if topo:
        return _print_topo(topology, root, json_lines=json_lines)
    if json_lines:
        _print_ports_json(topology)
    else:
        skipped = [(entry.device, *"-" * (len(_TITLES) - 2), entry.reason) for entry in topology.skipped]
        near = nearest_gpus(topology)
        print_columns(_TITLES, [_cells(near, nic, port) for nic in topology.nics for port in nic.ports] + skipped)
    return 0 if topology.nics else 1


def _print_topo(topology: Topology, root: Path, *, json_lines: bool) -> int:
    if not topology.gpus:
        sys.stderr.write(f"nic-metrics: there is no NVIDIA GPU in {root / 'bus/pci/devices'}\n")
    pins: _Pins = {policy: affinity_map(topology, policy) for policy in AffinityPolicy}
    if json_lines:
        for number, gpu in enumerate(topology.gpus):
            fields = {
                "gpu": number,
                "pci_address": gpu.address,
                "numa_node": gpu.numa_node,
                "distances": {nic.device: pci_distance(gpu, nic.place) for nic in topology.nics},
                "ports": {policy: _pin(pins, policy, gpu) for policy in AffinityPolicy},
            }
            print_json(TOPO_SCHEMA, fields)
    else:
        titles = ("GPU", "PCI", "NUMA", *(nic.device for nic in topology.nics), *map(str.upper, AffinityPolicy))
        rows = [
            (
                str(number),
                str(gpu.address),
                _known(gpu.numa_node),
                *(pci_distance(gpu, nic.place) or "-" for nic in topology.nics),
                *(_pin(pins, policy, gpu) or "-" for policy in AffinityPolicy),
            )
            for number, gpu in enumerate(topology.gpus)
        ]
        print_columns(titles, rows)
    return 0 if topology.nics and topology.gpus else 1


def _pin(pins: _Pins, policy: AffinityPolicy, gpu: PciPlace) -> str | None:
    port = pins[policy].get(str(gpu.address))
    return None if port is None else f"{port.device}:{port.port}"


def _cells(near: Mapping[str, tuple[int, ...]], nic: Nic, port: Port) -> tuple[str, ...]:
    rate = port.rate
    return (
        nic.device,
        str(port.id.port),
        "-" if rate is None else f"{rate.bits_per_second / 1e9:g} {rate.speed or ''}".rstrip(),
        "-" if port.state is None else port.state.word,
        port.link_layer or "-",
        nic.place.address or "-",
        _known(nic.place.numa_node),
        "-" if nic.verbs is None else "yes" if nic.verbs else "no",
        numbers(near[nic.device]),
        "" if port.rate is not None else f"rate: {_rate_problem(port)}",
    )


def _rate_problem(port: Port) -> str:
    return port.rate_problem or "unreadable"


def _print_ports_json(topology: Topology) -> None:
    near = nearest_gpus(topology)
    for nic in topology.nics:
        for port in nic.ports:
            fields = {
                "device": nic.device,
                "port": port.id.port,
                "state": _word(port.state),
                "phys_state": _word(port.phys_state),
                "link_layer": port.link_layer,
                "link_bytes_per_second": None if port.rate is None else port.rate.bytes_per_second,
                "lanes": None if port.rate is None else port.rate.lanes,
                "speed": None if port.rate is None else port.rate.speed,
                "pci_address": nic.place.address,
                "numa_node": nic.place.numa_node,
                "verbs": nic.verbs,
                "nearest_gpus": [topology.gpus[number].address for number in near[nic.device]],
                "reason": None if port.rate is not None else f"rate_{_rate_problem(port)}",
            }
            print_json(LIST_SCHEMA, fields)
    for skipped in topology.skipped:
        print_json(LIST_SCHEMA, {"device": skipped.device, "port": None, "reason": skipped.reason})


def _known(number: int | None) -> str:
    return "-" if number is None else str(number)


def _word(state: CodedState | None) -> str | None:
    return None if state is None else state.word
