"""Where GPUs and NICs sit: PCI paths, distances, and which GPU a CUDA index means."""

import os
from dataclasses import dataclass
from pathlib import Path

import pytest
from topology_tree import TopologyTree

from nic_metrics import (
    DriverGpu,
    NicMetricsError,
    PciAddressError,
    PciDistance,
    PciPlace,
    PortId,
    SkippedDevice,
    SkipReason,
    cuda_address,
    cuda_gpus,
    list_driver_gpus,
    list_gpus,
    normalize_pci_address,
    pci_distance,
    read_pci_place,
    read_topology,
    shared_depth,
)


@pytest.fixture
def tree(tmp_path: Path) -> TopologyTree:
    return TopologyTree(tmp_path)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("0000:0f:00.0", "0000:0f:00.0"),
        ("00000000:0F:00.0", "0000:0f:00.0"),
        ("0F:00.0", "0000:0f:00.0"),
        (" 0008:c1:1f.7\n", "0008:c1:1f.7"),
        ("10000:e1:00.0", "10000:e1:00.0"),
    ],
)
def test_an_address_is_written_as_in_sysfs_whoever_wrote_it(text: str, address: str) -> None:
    assert normalize_pci_address(text) == address


@pytest.mark.parametrize("text", ["", "GPU-9f3c", "0000:0f:00", "0000:0f:00.8", "0000:0g:00.0", "123456789:00:00.0"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(PciAddressError, match=r"is no PCI address: give one such as '0000:0f:00.0'") as caught:
        normalize_pci_address(text)
    assert caught.value.text == text
    assert isinstance(caught.value, NicMetricsError)


def test_a_path_holds_the_root_complex_the_bridges_and_the_device(tree: TopologyTree) -> None:
    tree.gpu("pci0000:00", "0000:00:01.1", "0000:01:00.0", "0000:0f:00.0", numa=1)
    assert read_pci_place("0000:0f:00.0", tree.sys) == PciPlace(
        "0000:0f:00.0", ("pci0000:00", "0000:00:01.1", "0000:01:00.0", "0000:0f:00.0"), 1
    )


def test_a_domain_of_five_digits_is_a_component_too(tree: TopologyTree) -> None:
    tree.gpu("pci0000:00", "0000:00:0e.0", "pci10000:e0", "10000:e1:00.0")
    assert read_pci_place("10000:e1:00.0", tree.sys).path[-2:] == ("pci10000:e0", "10000:e1:00.0")


@pytest.mark.parametrize(("numa", "node"), [(-1, None), (0, 0), (3, 3), (None, None)])
def test_a_node_that_the_kernel_does_not_know_is_unknown(
    tree: TopologyTree, numa: int | None, node: int | None
) -> None:
    tree.gpu("pci0000:00", "0000:0f:00.0", numa=numa)
    assert read_pci_place("0000:0f:00.0", tree.sys).numa_node == node


def test_a_device_that_is_not_there_has_an_address_alone(tree: TopologyTree) -> None:
    assert read_pci_place("0000:ff:00.0", tree.sys) == PciPlace("0000:ff:00.0", (), None)


def place(*path: str, numa: int | None = None) -> PciPlace:
    return PciPlace(path[-1] if path else None, path, numa)


@pytest.mark.parametrize(
    ("one", "other", "depth", "distance"),
    [
        (place("r", "s", "g"), place("r", "s", "n"), 2, PciDistance.PIX),
        (place("r", "up", "p1", "g"), place("r", "up", "p2", "n"), 2, PciDistance.PIX),
        (place("r", "up", "p1", "up1", "p3", "g"), place("r", "up", "p2", "n"), 2, PciDistance.PXB),
        (place("r", "g"), place("r", "n"), 1, PciDistance.PHB),
        (place("r", "b1", "g"), place("r", "b2", "n"), 1, PciDistance.PHB),
        (place("r1", "g", numa=0), place("r2", "n", numa=0), 0, PciDistance.NODE),
        (place("r1", "g", numa=0), place("r2", "n", numa=1), 0, PciDistance.SYS),
        (place("r1", "g", numa=0), place("r2", "n"), 0, None),
        (place(numa=0), place("r2", "n", numa=0), 0, None),
    ],
)
def test_distance_is_told_in_the_words_of_nvidia_smi(
    one: PciPlace, other: PciPlace, depth: int, distance: PciDistance | None
) -> None:
    assert shared_depth(one.path, other.path) == shared_depth(other.path, one.path) == depth
    assert pci_distance(one, other) == pci_distance(other, one) == distance


def test_gpus_are_nvidia_display_controllers_in_order_of_address(tree: TopologyTree) -> None:
    tree.gpu("pci0000:80", "0000:c1:00.0")
    tree.gpu("pci0000:00", "0000:0f:00.0", pci_class="0x030000")
    tree.pci(("pci0000:00", "0000:10:00.0"), 0, vendor="0x10de", pci_class="0x068000")  # an NVSwitch
    tree.pci(("pci0000:00", "0000:03:00.0"), 0, vendor="0x1a03", pci_class="0x030000")  # the console's display
    tree.nic("mlx5_0", "pci0000:00", "0000:11:00.0")
    assert [gpu.address for gpu in list_gpus(tree.sys)] == ["0000:0f:00.0", "0000:c1:00.0"]


def test_a_gpu_that_is_handed_in_is_listed_once(tree: TopologyTree) -> None:
    tree.gpu("pci0000:00", "0000:0f:00.0", numa=1)
    gpus = list_gpus(tree.sys, also=["00000000:0F:00.0", "0000:a0:00.0"])
    assert [(gpu.address, gpu.numa_node) for gpu in gpus] == [("0000:0f:00.0", 1), ("0000:a0:00.0", None)]


def test_a_machine_without_pci_has_no_gpus(tmp_path: Path) -> None:
    assert list_gpus(tmp_path) == ()
    assert read_topology(tmp_path).nics == ()


@dataclass
class TorchProperties:
    pci_domain_id: int
    pci_bus_id: int
    pci_device_id: int


def test_torch_gives_an_address_by_its_numbers() -> None:
    assert cuda_address(TorchProperties(0, 0x0F, 0)) == "0000:0f:00.0"
    assert cuda_address(TorchProperties(8, 0xC1, 1)) == "0008:c1:01.0"


def test_the_topology_says_where_each_nic_sits(tree: TopologyTree) -> None:
    tree.nic("mlx5_10", "pci0000:00", "0000:11:00.0", numa=1)
    tree.nic("mlx5_2", "pci0000:80", "0000:81:00.0", numa=None, verbs=False, ports=(1, 2), rate="200 Gb/sec (4X HDR)")
    (tree.sys / "class/infiniband/gone").symlink_to("../../devices/gone")
    topology = read_topology(tree.sys, dev_root=tree.dev)
    second, tenth = topology.nics
    assert (second.device, second.place) == ("mlx5_2", PciPlace("0000:81:00.0", ("pci0000:80", "0000:81:00.0")))
    assert [port.id for port in second.ports] == [PortId("mlx5_2", 1), PortId("mlx5_2", 2)]
    assert (second.verbs, second.rate_text) == (False, "200 Gb/sec (4X HDR)")
    assert (tenth.device, tenth.place.numa_node, tenth.verbs) == ("mlx5_10", 1, True)
    assert topology.skipped == (SkippedDevice("gone", SkipReason.DANGLING_LINK),)


def test_without_a_dev_the_nodes_that_sysfs_lists_count(tree: TopologyTree) -> None:
    tree.nic("mlx5_0", "pci0000:00", "0000:11:00.0", verbs=False)
    assert [nic.verbs for nic in read_topology(tree.sys, dev_root=tree.dev).nics] == [False]
    assert [nic.verbs for nic in read_topology(tree.sys, dev_root=None).nics] == [True]


def test_d22_of_two_devices_in_sysfs_the_one_with_a_verbs_node_is_usable(tree: TopologyTree) -> None:
    tree.nic("erdma_0", "pci0000:00", "0000:11:00.0")
    tree.nic("erdma_1", "pci0000:00", "0000:12:00.0", verbs=False)
    assert [(nic.device, nic.verbs) for nic in read_topology(tree.sys, dev_root=tree.dev).nics] == [
        ("erdma_0", True),
        ("erdma_1", False),
    ]


def test_a_device_below_one_on_pci_has_its_path_and_no_address(tree: TopologyTree) -> None:
    tree.nic("vio0", "pci0000:00", "0000:11:00.0", below="virtio3")
    (nic,) = read_topology(tree.sys).nics
    assert nic.place == PciPlace(None, ("pci0000:00", "0000:11:00.0"))


def test_a_device_that_is_not_on_pci_has_no_address(tree: TopologyTree) -> None:
    directory = tree.sys / "class/infiniband/rxe0"
    (directory / "ports/1").mkdir(parents=True)
    (tree.sys / "class/infiniband/erdma_9/ports/1").mkdir(parents=True)
    (tree.sys / "devices/virtual0").mkdir(parents=True)
    (directory / "device").symlink_to(os.path.relpath(tree.sys / "devices/virtual0", directory))
    assert [nic.place for nic in read_topology(tree.sys).nics] == [PciPlace(None), PciPlace(None)]


def write_driver(proc: Path, address: str, uuid: str, model: str) -> None:
    directory = proc / "driver/nvidia/gpus" / address
    directory.mkdir(parents=True)
    (directory / "information").write_text(
        f"Model: \t\t {model}\nIRQ:   \t\t 345\nGPU UUID: \t {uuid}\nVideo BIOS: \t 96.00.74.00.01\n"
        f"Bus Type: \t PCIe\nDMA Size: \t 52 bits\nDMA Mask: \t 0xfffffffffffff\nBus Location: \t {address}\n"
        "Device Minor: \t 0\nGPU Firmware: \t 535.129.03\nGPU Excluded:\t No\n" * 3
    )


def test_the_driver_tells_which_gpus_a_container_has(tmp_path: Path) -> None:
    write_driver(tmp_path, "0000:c1:00.0", "GPU-b", "NVIDIA H100 80GB HBM3")
    write_driver(tmp_path, "0000:0f:00.0", "GPU-a", "NVIDIA H100 80GB HBM3")
    (tmp_path / "driver/nvidia/gpus/0000:d0:00.0").mkdir()
    (tmp_path / "driver/nvidia/gpus/README").mkdir()
    assert list_driver_gpus(tmp_path) == (
        DriverGpu("0000:0f:00.0", "GPU-a", "NVIDIA H100 80GB HBM3"),
        DriverGpu("0000:c1:00.0", "GPU-b", "NVIDIA H100 80GB HBM3"),
        DriverGpu("0000:d0:00.0"),
    )


def test_without_the_driver_there_are_no_gpus_to_count(tmp_path: Path) -> None:
    assert list_driver_gpus(tmp_path) == ()
    assert cuda_gpus((), {"CUDA_VISIBLE_DEVICES": "0"}) == ()


H100 = tuple(DriverGpu(address, f"GPU-{address[:2]}0{address}", "H100") for address in ("a0", "b0", "c0"))


@pytest.mark.parametrize(
    ("visible", "addresses"),
    [
        (None, ("a0", "b0", "c0")),
        ("", ()),
        ("2", ("c0",)),
        (" 2 , 0", ("c0", "a0")),
        ("1,7,0", ("b0",)),
        ("1,-1,0", ("b0",)),
        ("no", ()),
        ("GPU-c0,0", ("c0", "a0")),
        ("GPU-,0", (None, "a0")),
        ("GPU-ff", (None,)),
        ("MIG-GPU-a0/1/0,1", (None, "b0")),
    ],
)
def test_a_cuda_index_means_what_the_mask_makes_of_it(visible: str | None, addresses: tuple[str | None, ...]) -> None:
    environ = {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}
    assert cuda_gpus(H100, environ) == addresses


def test_numbers_of_mixed_models_mean_nothing_unless_they_are_in_order_of_addresses() -> None:
    mixed = (DriverGpu("a0", "GPU-a", "L4"), DriverGpu("b0", "GPU-b", "H100"))
    assert cuda_gpus(mixed, {}) == (None, None)
    assert cuda_gpus(mixed, {"CUDA_VISIBLE_DEVICES": "1,GPU-b"}) == (None, "b0")
    assert cuda_gpus(mixed, {"CUDA_VISIBLE_DEVICES": "1", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}) == ("b0",)
