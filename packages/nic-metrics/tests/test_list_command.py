"""The command `nic-metrics list`."""

import json
import subprocess
import sysconfig
from pathlib import Path

import pytest
from nic_tree import NicTree
from topology_tree import TopologyTree

from nic_metrics.capture import capture_tree
from nic_metrics.cli import run


@pytest.fixture
def tree(tmp_path: Path) -> TopologyTree:
    """Two GPUs beside each of two NICs, on two sockets, a NIC without a node, and a link to nothing."""
    tree = TopologyTree(tmp_path / "machine")
    for number in range(4):
        tree.gpu(f"pci0000:{number // 2}0", f"0000:{number // 2}a:00.0", f"0000:{number + 1}0:00.0", numa=number // 2)
    for number in range(2):
        tree.nic(f"mlx5_{number}", f"pci0000:{number}0", f"0000:{number}a:00.0", f"0000:{number}f:00.0", numa=number)
    tree.nic(
        "mlx5_10",
        "pci0000:20",
        "0000:2f:00.0",
        numa=None,
        rate="0 GB/sec\n",
        state="1: DOWN\n",
        verbs=False,
        ports=(2,),
    )
    (tree.sys / "class/infiniband/mlx5_11").symlink_to("../../devices/nowhere")
    return tree


def printed(capsys: pytest.CaptureFixture[str], tree: TopologyTree, *arguments: str) -> list[str]:
    assert run(["list", "--root", str(tree.sys), *arguments]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out.splitlines()


def test_every_port_is_listed_with_the_gpus_that_it_is_nearest_to(
    tree: TopologyTree, capsys: pytest.CaptureFixture[str]
) -> None:
    assert printed(capsys, tree) == [
        "DEVICE   PORT  LINK     STATE   LAYER       PCI           NUMA  VERBS  GPU  REASON",
        "mlx5_0   1     400 NDR  ACTIVE  InfiniBand  0000:0f:00.0  0     yes    0,1",
        "mlx5_1   1     400 NDR  ACTIVE  InfiniBand  0000:1f:00.0  1     yes    2,3",
        "mlx5_10  2     -        DOWN    InfiniBand  0000:2f:00.0  -     yes    -    rate: zero",
        "mlx5_11  -     -        -       -           -             -     -      -    dangling_link",
    ]


def test_a_rate_that_cannot_be_read_has_a_reason_too(tree: TopologyTree, capsys: pytest.CaptureFixture[str]) -> None:
    (tree.sys / "class/infiniband/mlx5_0/ports/1/rate").unlink()
    assert printed(capsys, tree)[1].endswith("rate: unreadable")
    assert json.loads(printed(capsys, tree, "--json")[0])["reason"] == "rate_unreadable"


def test_topo_shows_distances_and_what_each_policy_gives(
    tree: TopologyTree, capsys: pytest.CaptureFixture[str]
) -> None:
    assert printed(capsys, tree, "--topo") == [
        "GPU  PCI           NUMA  mlx5_0  mlx5_1  mlx5_10  MODELEXPRESS  BALANCED_THEN_CLOSEST",
        "0    0000:10:00.0  0     PIX     SYS     -        mlx5_0:1      mlx5_0:1",
        "1    0000:20:00.0  0     PIX     SYS     -        mlx5_1:1      mlx5_0:1",
        "2    0000:30:00.0  1     SYS     PIX     -        mlx5_1:1      mlx5_1:1",
        "3    0000:40:00.0  1     SYS     PIX     -        mlx5_0:1      mlx5_1:1",
    ]


def test_json_is_one_object_a_port_with_null_for_unknown(
    tree: TopologyTree, capsys: pytest.CaptureFixture[str]
) -> None:
    first, _, third, skipped = map(json.loads, printed(capsys, tree, "--json"))
    assert first == {
        "schema": "nic-metrics.list/1",
        "device": "mlx5_0",
        "port": 1,
        "state": "ACTIVE",
        "phys_state": None,
        "link_layer": "InfiniBand",
        "link_bytes_per_second": 50e9,
        "lanes": 4,
        "speed": "NDR",
        "pci_address": "0000:0f:00.0",
        "numa_node": 0,
        "verbs": True,
        "nearest_gpus": ["0000:10:00.0", "0000:20:00.0"],
        "reason": None,
    }
    assert (third["link_bytes_per_second"], third["reason"], third["numa_node"]) == (None, "rate_zero", None)
    assert skipped == {"schema": "nic-metrics.list/1", "device": "mlx5_11", "port": None, "reason": "dangling_link"}


def test_topo_json_is_one_object_a_gpu(tree: TopologyTree, capsys: pytest.CaptureFixture[str]) -> None:
    second = json.loads(printed(capsys, tree, "--topo", "--json")[1])
    assert second == {
        "schema": "nic-metrics.topo/1",
        "gpu": 1,
        "pci_address": "0000:20:00.0",
        "numa_node": 0,
        "distances": {"mlx5_0": "PIX", "mlx5_1": "SYS", "mlx5_10": None},
        "ports": {"modelexpress": "mlx5_1:1", "balanced_then_closest": "mlx5_0:1"},
    }


def test_a_captured_machine_is_listed_like_the_machine(
    tree: TopologyTree, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capture_tree(tmp_path / "copy", sys_root=tree.sys)
    for arguments in ([], ["--topo"], ["--json"]):
        assert run(["list", "--root", str(tmp_path / "copy"), *arguments]) == 0
        assert capsys.readouterr().out.splitlines() == printed(capsys, tree, *arguments)


def test_a_device_of_the_same_numa_node_is_near_and_one_of_another_is_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = TopologyTree(tmp_path)
    tree.gpu("pci0000:00", "0000:10:00.0", numa=0)
    tree.gpu("pci0000:80", "0000:90:00.0", numa=2)
    tree.nic("mlx5_0", "pci0000:40", "0000:41:00.0", numa=0)
    tree.nic("mlx5_1", "pci0000:c0", "0000:c1:00.0", numa=1)
    _, first, second = printed(capsys, tree)
    assert (first.split()[-1], second.split()[-1]) == ("0", "-")


def test_a_class_directory_alone_is_listed_without_places(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    NicTree(tmp_path).port("mlx5_0")
    assert run(["list", "--root", str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines()[1] == "mlx5_0  1     400 NDR  ACTIVE  InfiniBand  -    -     -      -"
    assert run(["list", "--root", str(tmp_path), "--topo"]) == 1
    assert "there is no NVIDIA GPU in" in capsys.readouterr().err


def test_a_machine_without_rdma_exits_1_and_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "class").mkdir()
    assert run(["list", "--root", str(tmp_path)]) == 1
    assert capsys.readouterr().err == f"nic-metrics: there is no RDMA device in {tmp_path}/class/infiniband\n"


def test_a_name_cannot_steer_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    NicTree(tmp_path).port("\x1b[31mred")
    run(["list", "--root", str(tmp_path)])
    assert "\\x1b[31mred" in capsys.readouterr().out


def test_the_installed_command_lists(tree: TopologyTree) -> None:
    command = Path(sysconfig.get_path("scripts")) / "nic-metrics"
    ended = subprocess.run([command, "list", "--root", tree.sys, "--topo"], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr, len(ended.stdout.splitlines())) == (0, "", 5)
