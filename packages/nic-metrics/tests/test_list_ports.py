"""Finding devices and ports, and what they say of themselves."""

import os
from pathlib import Path

import pytest
from nic_tree import NicTree

from nic_metrics import (
    CodedState,
    LinkRate,
    LinkRateProblem,
    NicMetricsError,
    PortId,
    PortIdError,
    SkippedDevice,
    SkipReason,
    list_ports,
    read_port,
)


@pytest.fixture
def tree(tmp_path: Path) -> NicTree:
    return NicTree(tmp_path)


def test_every_port_of_every_device_is_listed_in_natural_order(tree: NicTree) -> None:
    for device in ("mlx5_10", "mlx5_2", "ibp152s0f0"):
        tree.port(device)
    tree.port("mlx5_2", port=2)
    inventory = list_ports(tree.root)
    assert [port.id for port in inventory.ports] == [
        PortId("ibp152s0f0"),
        PortId("mlx5_2", 1),
        PortId("mlx5_2", 2),
        PortId("mlx5_10"),
    ]
    assert inventory.skipped == ()
    assert inventory.ports[0].rate == LinkRate(400_000_000_000, 4, "NDR")


def test_a_machine_without_rdma_has_an_empty_inventory(tmp_path: Path) -> None:
    inventory = list_ports(tmp_path / "infiniband")
    assert (inventory.ports, inventory.skipped) == ((), ())


def test_d02_d03_a_rate_that_names_no_capacity_leaves_the_port_listed(tree: NicTree) -> None:
    tree.port("mlx5_0", {"rate": "0 GB/sec\n"})
    tree.port("mlx5_1")
    (tree.root / "mlx5_1/ports/1/rate").unlink()
    empty_slot, unreadable = list_ports(tree.root).ports
    assert (empty_slot.rate, empty_slot.rate_problem) == (None, LinkRateProblem.ZERO)
    assert (unreadable.rate, unreadable.rate_problem) == (None, None)


def test_d07_a_device_without_counters_is_listed_beside_a_complete_one(tree: NicTree) -> None:
    tree.port("irdma0")
    tree.port("mlx5_0", {"counters/port_xmit_data": 1, "counters/port_rcv_data": 1})
    assert [port.id.device for port in list_ports(tree.root).ports] == ["irdma0", "mlx5_0"]


def test_d16_missing_attributes_are_tolerated(tree: NicTree) -> None:
    tree.write("hfi1_0", {"hw_counters/SwLinkUp,32": 3})
    (port,) = list_ports(tree.root).ports
    assert (port.state, port.phys_state, port.link_layer, port.rate, port.active) == (None, None, None, None, None)


def test_d17_a_port_that_polls_is_not_active_although_it_states_a_rate(tree: NicTree) -> None:
    tree.port("mlx5_0", {"state": "1: DOWN\n", "phys_state": "2: Polling\n", "rate": "10 Gb/sec (4X SDR)\n"})
    port = read_port(PortId("mlx5_0"), tree.root)
    assert (port.state, port.phys_state) == (CodedState(1, "DOWN"), CodedState(2, "Polling"))
    assert port.active is False


def test_d18_line_ends_make_no_difference(tree: NicTree) -> None:
    tree.port("mlx5_0")
    tree.port(
        "mlx5_1",
        {
            "state": "4: ACTIVE",
            "phys_state": "5: LinkUp",
            "link_layer": "InfiniBand\n\n",
            "rate": "400 Gb/sec (4X NDR)",
        },
    )
    first, second = list_ports(tree.root).ports
    assert first.state == second.state == CodedState(4, "ACTIVE")
    assert first.phys_state == second.phys_state
    assert first.link_layer == second.link_layer == "InfiniBand"
    assert first.rate == second.rate


def test_d19_a_bond_is_one_device_with_its_own_rate(tree: NicTree) -> None:
    tree.port("mlx5_bond_0", {"link_layer": "Ethernet\n", "rate": "200 Gb/sec (2X NDR)\n"})
    (port,) = list_ports(tree.root).ports
    assert (port.id.device, port.link_layer, port.rate) == (
        "mlx5_bond_0",
        "Ethernet",
        LinkRate(200_000_000_000, 2, "NDR"),
    )


def test_d20_devices_that_are_not_named_are_never_touched(tree: NicTree, monkeypatch: pytest.MonkeyPatch) -> None:
    for index in range(8):
        tree.port(f"mlx5_{index}")
    opened: list[str] = []
    real_open = os.open

    def spy(path: str, flags: int) -> int:
        opened.append(path)
        return real_open(path, flags)

    monkeypatch.setattr(os, "open", spy)
    (port,) = list_ports(tree.root, devices={"mlx5_3"}).ports
    assert port.id == PortId("mlx5_3")
    assert opened
    assert all("/mlx5_3/" in path for path in opened)


def test_d21_a_dangling_link_is_skipped_with_a_reason(tree: NicTree) -> None:
    (tree.root / "mlx5_0").symlink_to("../../devices/pci0000:00/infiniband/mlx5_0")
    (tree.root / "mlx5_1").mkdir()
    tree.port("mlx5_2")
    inventory = list_ports(tree.root)
    assert [port.id.device for port in inventory.ports] == ["mlx5_2"]
    assert inventory.skipped == (
        SkippedDevice("mlx5_0", SkipReason.DANGLING_LINK),
        SkippedDevice("mlx5_1", SkipReason.NO_PORTS),
    )


def test_d22_a_device_is_listed_whether_or_not_it_has_a_verbs_node(tree: NicTree) -> None:
    tree.port("erdma_0")
    tree.port("erdma_1")
    (tree.root / "erdma_0/device/infiniband_verbs/uverbs0").mkdir(parents=True)
    assert [port.id.device for port in list_ports(tree.root).ports] == ["erdma_0", "erdma_1"]


@pytest.mark.parametrize(
    ("text", "state", "active"),
    [
        ("4: ACTIVE\n", CodedState(4, "ACTIVE"), True),
        ("5: ACTIVE_DEFER\n", CodedState(5, "ACTIVE_DEFER"), True),
        ("2: INIT\n", CodedState(2, "INIT"), False),
        ("3: ARMED\n", CodedState(3, "ARMED"), False),
        ("0: NOP\n", CodedState(0, "NOP"), False),
        ("9: <unknown>\n", CodedState(9, "<unknown>"), False),
        ("ACTIVE\n", None, None),
        ("\n", None, None),
    ],
)
def test_the_number_of_a_state_counts(tree: NicTree, text: str, state: CodedState | None, active: bool | None) -> None:
    tree.port("mlx5_0", {"state": text})
    port = read_port(PortId("mlx5_0"), tree.root)
    assert (port.state, port.active) == (state, active)


@pytest.mark.parametrize(
    ("device", "port"), [("", 1), ("..", 1), ("../../net/eth0", 1), ("a\0b", 1), ("mlx5_0", 0), ("mlx5_0", -1)]
)
def test_what_would_lead_out_of_the_class_directory_is_no_port(device: str, port: int) -> None:
    with pytest.raises(PortIdError, match="is no port: give the name") as caught:
        PortId(device, port)
    assert (caught.value.device, caught.value.port) == (device, port)
    assert isinstance(caught.value, NicMetricsError)
