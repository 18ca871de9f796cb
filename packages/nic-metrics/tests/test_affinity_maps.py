"""Which NIC belongs to which GPU."""

from itertools import product
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from topology_tree import TopologyTree

from nic_metrics import (
    AffinityPolicy,
    CodedState,
    LinkRate,
    Nic,
    PciPlace,
    Port,
    PortId,
    Topology,
    affinity_map,
    read_topology,
    shared_depth,
)

MODELEXPRESS, BALANCED = AffinityPolicy.MODELEXPRESS, AffinityPolicy.BALANCED_THEN_CLOSEST
ACTIVE = CodedState(4, "ACTIVE")


def nic(
    device: str,
    *path: str,
    numa: int | None = None,
    gbps: int = 400,
    verbs: bool = True,
    state: CodedState = ACTIVE,
    rate_text: str | None = None,
) -> Nic:
    port = Port(PortId(device), state, None, None, LinkRate(gbps * 10**9) if gbps else None, None)
    text = f"{gbps} Gb/sec" if rate_text is None else rate_text
    return Nic(device, PciPlace(path[-1] if path else None, path, numa), (port,), verbs, text)


def gpu(address: str, *path: str, numa: int | None = None) -> PciPlace:
    return PciPlace(address, (*path, address) if path else (), numa)


def under_one_switch(root: str, bridge: str, device: str, numa: int) -> PciPlace:
    return gpu(f"0000:{device}:00.0", f"pci0000:{root}", f"0000:{bridge}:00.0", numa=numa)


FOUR_PAIRS = Topology(
    tuple(under_one_switch(f"0{n}", f"{n}a", f"{n}0", 0) for n in range(1, 5)),
    tuple(nic(f"mlx5_{n}", f"pci0000:0{n}", f"0000:{n}a:00.0", f"0000:{n}1:00.0", numa=0) for n in range(1, 5)),
)
# Four GPUs and one NIC on one socket, three NICs on the other: a pod that was really seen.
LONE_LOCAL_RAIL = Topology(
    tuple(gpu(f"0000:9{n}:00.0", f"pci0000:9{n}", numa=1) for n in range(4)),
    (
        *(nic(f"mlx5_{n}", f"pci0000:{n + 1}0", f"0000:{n + 1}1:00.0", numa=0) for n in range(3)),
        nic("mlx5_11", "pci0000:93", "0000:94:00.0", numa=1),
    ),
)
# Two GPUs and a NIC under each of four switches, two switches on a socket.
EIGHT_ON_FOUR = Topology(
    tuple(under_one_switch(f"{n // 4}0", f"{n // 2}a", f"{n}0", n // 4) for n in range(8)),
    tuple(nic(f"mlx5_{n}", f"pci0000:{n // 2}0", f"0000:{n}a:00.0", f"0000:{n}f:00.0", numa=n // 2) for n in range(4)),
)
ONE_AND_ONE = Topology((gpu("0000:01:00.0"),), (nic("mlx5_0", gbps=100),))
ALL_TIE = Topology((gpu("0000:01:00.0", numa=0), gpu("0000:02:00.0", numa=0)), (nic("mlx5_10"), nic("mlx5_2")))


@pytest.mark.parametrize(
    ("topology", "devices"),
    [
        (FOUR_PAIRS, ["mlx5_1", "mlx5_2", "mlx5_3", "mlx5_4"]),
        (LONE_LOCAL_RAIL, ["mlx5_0", "mlx5_1", "mlx5_2", "mlx5_11"]),
        (EIGHT_ON_FOUR, [f"mlx5_{n}" for n in (0, 1, 2, 3, 2, 3, 0, 1)]),
        (ONE_AND_ONE, ["mlx5_0"]),
        (ALL_TIE, ["mlx5_10", "mlx5_2"]),
    ],
    ids=["four pairs", "lone local rail", "eight GPUs on four NICs", "one of each", "all tie"],
)
def test_the_map_of_modelexpress_is_what_modelexpress_0_7_0_gave(topology: Topology, devices: list[str]) -> None:
    assert list(affinity_map(topology, MODELEXPRESS).items()) == [
        (place.address, PortId(device)) for place, device in zip(topology.gpus, devices, strict=True)
    ]


def local(topology: Topology, policy: AffinityPolicy) -> int:
    """Count the GPUs whose NIC is one of the closest."""
    paths = {nic.device: nic.place.path for nic in topology.nics}
    ports = affinity_map(topology, policy)
    return sum(
        shared_depth(place.path, paths[ports[str(place.address)].device])
        == max(shared_depth(place.path, path) for path in paths.values())
        for place in topology.gpus
    )


def test_eight_gpus_on_four_nics_are_all_local_and_two_a_rail_where_balance_comes_with_closeness() -> None:
    balanced = affinity_map(EIGHT_ON_FOUR, BALANCED)
    assert [port.device for port in balanced.values()] == [f"mlx5_{n // 2}" for n in range(8)]
    assert (local(EIGHT_ON_FOUR, BALANCED), local(EIGHT_ON_FOUR, MODELEXPRESS)) == (8, 2)


def test_a_lone_local_rail_is_not_given_to_every_gpu() -> None:
    for policy in AffinityPolicy:
        ports = affinity_map(LONE_LOCAL_RAIL, policy)
        assert len(set(ports.values())) == 4
        assert ports["0000:93:00.0"] == PortId("mlx5_11")


def test_of_equally_close_maps_names_decide_in_natural_order() -> None:
    assert [port.device for port in affinity_map(ALL_TIE, BALANCED).values()] == ["mlx5_2", "mlx5_10"]


def test_the_socket_decides_where_pcie_does_not() -> None:
    topology = Topology(
        (gpu("0000:01:00.0", "pci0000:01", numa=1), gpu("0000:02:00.0", "pci0000:02", numa=0)),
        (nic("mlx5_0", "pci0000:0a", "0000:0b:00.0", numa=0), nic("mlx5_1", "pci0000:0c", "0000:0d:00.0", numa=1)),
    )
    for policy in AffinityPolicy:
        assert [port.device for port in affinity_map(topology, policy).values()] == ["mlx5_1", "mlx5_0"]


@pytest.mark.parametrize("policy", AffinityPolicy)
def test_an_unknown_socket_is_no_other_socket(policy: AffinityPolicy) -> None:
    topology = Topology((gpu("0000:01:00.0", numa=1),), (nic("mlx5_0"), nic("mlx5_1", numa=0), nic("mlx5_2", numa=1)))
    assert affinity_map(topology, policy) == {"0000:01:00.0": PortId("mlx5_0")}


def test_the_root_complex_alone_makes_devices_closer() -> None:
    flat = Topology(
        (gpu("0000:c1:00.0", "pci0000:c0"),),
        (nic("mlx5_0", "pci0000:40", "0000:41:00.0"), nic("mlx5_1", "pci0000:c0", "0000:c2:00.0")),
    )
    for policy in AffinityPolicy:
        assert affinity_map(flat, policy) == {"0000:c1:00.0": PortId("mlx5_1")}


def test_slower_nics_are_left_out_unless_a_slowest_rate_is_given() -> None:
    topology = Topology((gpu("0000:01:00.0"), gpu("0000:02:00.0")), (nic("mlx5_0", gbps=200), nic("mlx5_1", gbps=400)))
    for policy in AffinityPolicy:
        assert set(affinity_map(topology, policy).values()) == {PortId("mlx5_1")}
        both = affinity_map(topology, policy, min_rate_gbps=200)
        assert set(both.values()) == {PortId("mlx5_0"), PortId("mlx5_1")}
        assert affinity_map(topology, policy, min_rate_gbps=800) == {}


@pytest.mark.parametrize(
    ("candidate", "modelexpress", "balanced"),
    [
        (nic("mlx5_0", verbs=False), False, False),
        (nic("mlx5_bond_0"), False, True),
        (nic("mlx5_0", gbps=0, rate_text="0 GB/sec"), True, False),
        (nic("mlx5_0", gbps=0, rate_text=""), False, False),
        (nic("mlx5_0", gbps=0, rate_text="garbage"), False, False),
        (nic("mlx5_0", state=CodedState(1, "DOWN")), True, False),
        (
            Nic("mlx5_0", PciPlace(None), (Port(PortId("mlx5_0", 2), ACTIVE, None, None, LinkRate(1), None),), True),
            False,
            True,
        ),
    ],
    ids=["no verbs node", "bond", "rate of zero", "no rate", "no number", "down", "port 2 only"],
)
def test_what_is_eligible(candidate: Nic, modelexpress: bool, balanced: bool) -> None:
    topology = Topology((gpu("0000:01:00.0"),), (candidate,))
    assert bool(affinity_map(topology, MODELEXPRESS)) == modelexpress
    assert bool(affinity_map(topology, BALANCED)) == balanced


def test_modelexpress_takes_a_rate_in_megabits_for_the_fastest_and_we_do_not() -> None:
    topology = Topology(
        (gpu("0000:01:00.0"),), (nic("mlx5_0", gbps=100, rate_text="100000 Mb/sec"), nic("mlx5_1", gbps=400))
    )
    assert affinity_map(topology, MODELEXPRESS) == {"0000:01:00.0": PortId("mlx5_0")}
    assert affinity_map(topology, BALANCED) == {"0000:01:00.0": PortId("mlx5_1")}


@pytest.mark.parametrize("policy", AffinityPolicy)
@pytest.mark.parametrize(
    "topology", [Topology((), ()), Topology((), (nic("mlx5_0"),)), Topology((gpu("0000:01:00.0"),), ())]
)
def test_without_gpus_or_nics_the_map_is_empty(policy: AffinityPolicy, topology: Topology) -> None:
    assert affinity_map(topology, policy) == {}


roots = st.sampled_from(["pci0000:00", "pci0000:80"])
bridges = st.sampled_from([(), ("0000:0a:00.0",), ("0000:0b:00.0",), ("0000:0a:00.0", "0000:0c:00.0")])
numas = st.sampled_from([None, 0, 1])


@st.composite
def topologies(draw: st.DrawFn, most_gpus: int, most_nics: int) -> Topology:
    def path(address: str) -> tuple[str, ...]:
        return (draw(roots), *draw(bridges), address) if draw(st.booleans()) else ()

    gpus = [f"0000:1{number}:00.0" for number in range(draw(st.integers(1, most_gpus)))]
    return Topology(
        tuple(PciPlace(address, path(address), draw(numas)) for address in gpus),
        tuple(
            nic(f"mlx5_{number}", *path(f"0000:2{number}:00.0"), numa=draw(numas))
            for number in range(draw(st.integers(1, most_nics)))
        ),
    )


def worth(topology: Topology, devices: tuple[str, ...]) -> tuple[int, ...]:
    """What is to be as small as possible: unevenness, distance, sockets crossed, then the order of names."""
    places = {nic.device: nic.place for nic in topology.nics}
    loads = [devices.count(device) for device in places]
    pairs = [(place, places[device]) for place, device in zip(topology.gpus, devices, strict=True)]
    return (
        sum(load * load for load in loads),
        -sum(shared_depth(one.path, other.path) for one, other in pairs),
        sum(one.numa_node is not None and other.numa_node not in {None, one.numa_node} for one, other in pairs),
        *(int(device.removeprefix("mlx5_")) for device in devices),
    )


@given(topologies(5, 4))
def test_no_map_is_more_even_or_as_even_and_closer(topology: Topology) -> None:
    chosen = tuple(port.device for port in affinity_map(topology, BALANCED).values())
    devices = [nic.device for nic in topology.nics]
    assert chosen == min(product(devices, repeat=len(topology.gpus)), key=lambda every: worth(topology, every))


@given(topologies(16, 9), st.randoms(use_true_random=False), st.sampled_from(AffinityPolicy))
def test_ranks_that_list_devices_in_another_order_get_the_same_map(
    topology: Topology, random: Random, policy: AffinityPolicy
) -> None:
    nics, gpus = list(topology.nics), list(topology.gpus)
    random.shuffle(nics)
    chosen = affinity_map(topology, policy)
    assert affinity_map(Topology(tuple(gpus), tuple(nics)), policy) == chosen
    loads = [list(chosen.values()).count(PortId(nic.device)) for nic in nics]
    assert max(loads) - min(loads) <= 1


def test_masked_ranks_agree_because_sysfs_shows_every_gpu_to_each(tmp_path: Path) -> None:
    tree = TopologyTree(tmp_path)
    for number in range(4):
        tree.gpu("pci0000:00", f"0000:1{number}:00.0")
        tree.nic(f"mlx5_{number}", "pci0000:40", f"0000:4{number}:00.0")
    maps = []
    for own in (0, 3):
        # What each rank adds from torch is its own GPU alone.
        topology = read_topology(tree.sys, dev_root=tree.dev, gpus=[f"0000:1{own}:00.0"])
        maps.append(affinity_map(topology, MODELEXPRESS))
    assert maps[0] == maps[1]
    assert [port.device for port in maps[0].values()] == ["mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3"]
