"""Capturing a tree: it reads like the machine, and tells no address of it."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from nic_tree import ManualClock, NicTree
from topology_tree import TopologyTree

from nic_metrics import PortId, PortSampler, list_ports, read_topology
from nic_metrics._aliases import Aliases
from nic_metrics.capture import CaptureError, capture_tree

PLACE = "devices/pci0000:00/0000:00:01.0/0000:0f:00.0"
GUID = "a088:c203:00ab:cd10"
PORT_GUID = "a288:c2ff:feab:cd10"


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def link(path: Path, target: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """What stands for `/sys` on a machine with a GPU, a NIC that is named by its MAC address, and a link to nothing."""
    root = tmp_path / "sys"
    nic = root / PLACE / "infiniband"
    tree = NicTree(nic)
    tree.port(
        "rocexa088c2abcd10",
        {
            "counters/port_xmit_data": 230_442_669_431_839,
            "counters/port_rcv_data": "N/A (no PMA)\n",
            "hw_counters/lifespan": 10,
            "gids/0": f"fe80:0000:0000:0000:{PORT_GUID}\n",
            "gids/1": "0000:0000:0000:0000:0000:ffff:0a0b:0c0d\n",
            "gids/2": f"fd12:3456:789a:0001:{PORT_GUID}\n",
            "gids/3": "0000:0000:0000:0000:0000:0000:0000:0000\n",
            "lid": "0x1a2b\n",
            "sm_lid": "0x0\n",
            "secret": "10.11.12.13\n",
        },
    )
    device = nic / "rocexa088c2abcd10"
    write(device / "ports/1/gid_attrs/ndevs/0", "enxa088c2abcd10\n")
    write(device / "ports/1/gid_attrs/types/0", "RoCE v2\n")
    write(device / "node_guid", f"{GUID}\n")
    write(device / "sys_image_guid", f"{GUID}\n")
    write(device / "node_desc", "node-7.example.net mlx5_0\n")
    link(device / "device", "../../../0000:0f:00.0")
    write(root / PLACE / "numa_node", "1\n")
    write(root / PLACE / "serial_number", "a0-88-c2\n")
    (root / PLACE / "infiniband_verbs/uverbs0").mkdir(parents=True)
    link(root / "bus/pci/devices/0000:0f:00.0", f"../../../{PLACE}")
    gpu = "devices/pci0000:00/0000:00:01.0/0000:10:00.0"
    write(root / gpu / "vendor", "0x10de\n")
    write(root / gpu / "class", "0x030200\n")
    link(root / "bus/pci/devices/0000:10:00.0", f"../../../{gpu}")
    link(root / "class/infiniband/rocexa088c2abcd10", f"../../{PLACE}/infiniband/rocexa088c2abcd10")
    link(root / "class/infiniband/mlx5_9", "../../devices/nowhere")
    return root


def everything(root: Path) -> dict[str, str]:
    files = {str(path.relative_to(root)): path for path in root.rglob("*")}
    return {name: path.read_text() for name, path in files.items() if path.is_file()}


def test_a_captured_tree_reads_like_the_machine(machine: Path, tmp_path: Path) -> None:
    got = capture_tree(tmp_path / "copy", sys_root=machine)
    (name,) = got.devices
    was, now = (list_ports(root / "class/infiniband") for root in (machine, got.directory))
    assert now.skipped == was.skipped
    (before,), (after,) = was.ports, now.ports
    assert after == type(before)(PortId(name), *(getattr(before, each) for each in before.__slots__[1:]))
    clock = ManualClock()
    uses = []
    for root, device in ((machine, before.id), (got.directory, after.id)):
        with PortSampler([device], root=root / "class/infiniband", clock=clock) as sampler:
            sampler.sample()
            clock.advance(1)
            uses.append(sampler.sample()[device])
    assert uses[0] == uses[1]
    assert uses[0].missing == "rx"


def test_places_in_the_pci_tree_and_verbs_nodes_are_kept(machine: Path, tmp_path: Path) -> None:
    got = capture_tree(tmp_path / "copy", sys_root=machine)
    device = got.directory / "class/infiniband" / got.devices[0] / "device"
    assert device.readlink().name == "0000:0f:00.0"
    pci = got.directory / "bus/pci/devices"
    assert pci.joinpath("0000:0f:00.0").resolve() == got.directory.resolve() / PLACE == device.resolve()
    assert device.joinpath("numa_node").read_text() == "1\n"
    assert [node.name for node in device.joinpath("infiniband_verbs").iterdir()] == ["uverbs0"]
    assert (got.gpus, pci.joinpath("0000:10:00.0/class").read_text()) == (1, "0x030200\n")


def test_a_captured_tree_has_the_topology_of_the_machine(tmp_path: Path) -> None:
    tree = TopologyTree(tmp_path)
    tree.gpu("pci0000:00", "0000:00:01.0", "0000:10:00.0")
    tree.gpu("pci0000:80", "0000:80:01.0", "0000:90:00.0", numa=1)
    tree.nic("mlx5_0", "pci0000:00", "0000:00:01.0", "0000:0f:00.0")
    tree.nic("mlx5_1", "pci0000:80", "0000:80:01.0", "0000:8f:00.0", numa=1, ports=(1, 2))
    tree.nic("vio0", "pci0000:00", "0000:11:00.0", below="virtio3")
    got = capture_tree(tmp_path / "copy", sys_root=tree.sys)
    was = read_topology(tree.sys, dev_root=None)
    assert [nic.place.path[-1] for nic in was.nics] == ["0000:0f:00.0", "0000:8f:00.0", "0000:11:00.0"]
    assert read_topology(got.directory, dev_root=None) == was


def test_a_tree_without_links_is_copied_as_it_is(tmp_path: Path) -> None:
    tree = NicTree(tmp_path / "sys/class/infiniband")
    tree.port("mlx5_0")
    write(tree.root / "mlx5_0/device/numa_node", "1\n")
    got = capture_tree(tmp_path / "copy", sys_root=tmp_path / "sys")
    assert everything(got.directory) == everything(tmp_path / "sys")


def test_no_address_and_no_name_of_the_node_is_told(machine: Path, tmp_path: Path) -> None:
    got = capture_tree(tmp_path / "copy", sys_root=machine)
    told = "\n".join(f"{name}\n{text}" for name, text in everything(got.directory).items())
    for private in (GUID, PORT_GUID, "a088c2", "0a0b:0c0d", "fd12", "0x1a2b", "node-7", "10.11", "a0-88"):
        assert private not in told
    assert got.replaced == len({GUID, PORT_GUID, "10.11.12.13", "fd12:3456:789a:0001", "lid", "device", "interface"})


def test_the_same_address_has_the_same_name_everywhere_and_keeps_its_kind(machine: Path, tmp_path: Path) -> None:
    got = capture_tree(tmp_path / "copy", sys_root=machine)
    device = got.directory / "class/infiniband" / got.devices[0]
    texts = everything(device.resolve())
    assert texts["node_guid"] == texts["sys_image_guid"]
    gids = [texts[f"ports/1/gids/{index}"].strip() for index in range(3)]
    assert gids[0].startswith("fe80:0000:0000:0000:")
    assert gids[1].startswith("0000:0000:0000:0000:0000:ffff:c612:")
    assert gids[0][20:] == gids[2][20:] != texts["node_guid"].strip()
    assert "ports/1/gids/3" not in texts
    assert (texts["ports/1/sm_lid"], texts["ports/1/lid"]) == ("0x0\n", "0x1\n")
    again = capture_tree(tmp_path / "again", sys_root=machine)
    assert everything(again.directory) == everything(got.directory)


def test_what_is_not_known_to_be_harmless_is_left_out(machine: Path, tmp_path: Path) -> None:
    got = capture_tree(tmp_path / "copy", sys_root=machine)
    names = {Path(name).name for name in everything(got.directory)}
    assert names.isdisjoint({"secret", "serial_number"})
    assert got.files == len(everything(got.directory))


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], list[str]]:
    """Makes files of this name answer EINVAL; gives every path that is opened."""

    def fail(name: str) -> list[str]:
        opened: list[str] = []
        real_open = os.open

        def spy(path: str | Path, flags: int) -> int:
            opened.append(str(path))
            if Path(path).name == name:
                raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
            return real_open(path, flags)

        monkeypatch.setattr(os, "open", spy)
        return opened

    return fail


def test_a_file_that_can_not_be_read_is_named_and_the_others_are_there(
    machine: Path, tmp_path: Path, failing: Callable[[str], list[str]]
) -> None:
    failing("port_rcv_data")
    got = capture_tree(tmp_path / "copy", sys_root=machine)
    ((file, error),) = got.unreadable
    assert file == f"class/infiniband/{got.devices[0]}/ports/1/counters/port_rcv_data"
    assert error == "Invalid argument"
    assert any(name.endswith("port_xmit_data") for name in everything(got.directory))


def test_d20_nothing_of_a_device_that_was_not_named_is_read(
    tmp_path: Path, failing: Callable[[str], list[str]]
) -> None:
    tree = NicTree(tmp_path / "sys/class/infiniband")
    tree.port("mlx5_0")
    tree.port("mlx5_1")
    opened = failing("nothing")
    assert capture_tree(tmp_path / "copy", sys_root=tmp_path / "sys", devices={"mlx5_1"}).devices == ("mlx5_1",)
    assert opened
    assert not any("mlx5_0" in path for path in opened)


def test_a_directory_that_is_not_empty_is_left_alone(machine: Path, tmp_path: Path) -> None:
    write(tmp_path / "full/of", "something")
    with pytest.raises(CaptureError, match=r"full isn't empty: name a directory that is"):
        capture_tree(tmp_path / "full", sys_root=machine)
    with pytest.raises(CaptureError, match=r"something can't be written: Not a directory"):
        capture_tree(tmp_path / "full/of/something", sys_root=machine)
    assert list((tmp_path / "full").iterdir()) == [tmp_path / "full/of"]


def test_a_machine_without_rdma_gives_an_empty_tree(tmp_path: Path) -> None:
    got = capture_tree(tmp_path / "copy", sys_root=tmp_path)
    assert (got.devices, got.files) == ((), 0)


@pytest.mark.parametrize("name", ["mlx5_0", "rdmap0s31", "ibp152s0f0", "rocep1s0", "ens3f0np0"])
def test_names_without_an_address_stay(name: str) -> None:
    assert Aliases().device(name) == name


def test_names_made_of_the_same_address_stay_different_kinds() -> None:
    aliases = Aliases()
    assert aliases.device("ibxa088c203004e10ab") != aliases.device("ibxa088c203004e10ac")
    assert aliases.device("ibxa088c203004e10ab") == aliases.device("ibxa088c203004e10ab")
    assert aliases.device("enxa088c2abcd10").startswith("enx")
