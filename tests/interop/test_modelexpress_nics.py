"""Which NIC a GPU is pinned to, and what netlink says of it, beside modelexpress' own code from the released wheel.

Both read the same trees and the same netlink messages.
"""

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from modelexpress_wheel import Modelexpress, modelexpress_of
from rdma_netlink_peer import FakeDevice, fake_kernel
from topology_tree import TopologyTree

from nic_metrics import AffinityPolicy, NetlinkStatistics, PortId, affinity_map, choose_nics, read_topology

# The first test of a fresh machine downloads wheels of 20 MB.
pytestmark = pytest.mark.timeout(300)

STAND_INS = ["/dev", "/sys", "huggingface_hub", "huggingface_hub.constants", "netlink socket", "torch"]
MACHINES = 60

MODELEXPRESS_SIDE = """
import os, socket
from modelexpress import nic_metrics, ucx_utils

stood_in += ["/sys", "/dev", "netlink socket"]
say_what_runs(nic_metrics, ucx_utils)

class Elsewhere:
    "os and os.path, with /sys and /dev below another root."

    def __init__(self, real, root):
        self._real, self._root = real, root

    def __getattr__(self, name):
        real = getattr(self._real, name)
        if name not in ("listdir", "readlink", "realpath", "isdir", "exists"):
            return real
        return lambda path: real(self.at(path))

    def at(self, path):
        return self._root + path if path.startswith(("/sys/", "/dev/")) else path

def pins(machines):
    "The map of every machine, and what each of its workers' settings pin it to."
    told = []
    for machine in machines:
        elsewhere = Elsewhere(os, machine["root"])
        elsewhere.path = Elsewhere(os.path, machine["root"])
        ucx_utils.os = elsewhere
        ucx_utils.open = lambda path, mode="r": open(elsewhere.at(path), mode)
        found = {"map": {}, "pins": []}

        def see(bdfs):
            numbers = [[int(part, 16) for part in bdf[:-2].split(":")] for bdf in bdfs]
            ucx_utils.torch = types.SimpleNamespace(cuda=types.SimpleNamespace(
                device_count=lambda: len(bdfs),
                get_device_properties=lambda index: types.SimpleNamespace(
                    pci_domain_id=numbers[index][0], pci_bus_id=numbers[index][1], pci_device_id=numbers[index][2]
                ),
            ))

        for bdf in machine["gpus"]:
            see([bdf])  # Each worker is masked to its own GPU.
            found["map"][bdf] = ucx_utils.probe_nic_pin_for_device(0, machine["min_rate"])
        for environ in machine["environs"]:
            see(machine["gpus"])
            for name in list(os.environ):
                if name.startswith(("MX_", "UCX_")):
                    del os.environ[name]
            os.environ |= environ
            pinned = []
            for index in range(len(machine["gpus"])):
                before = os.environ.get("UCX_NET_DEVICES")
                ucx_utils.apply_nic_pin_for_device(index)
                pinned.append(os.environ.get("UCX_NET_DEVICES"))
                os.environ.pop("UCX_NET_DEVICES", None)
                if before is not None:
                    os.environ["UCX_NET_DEVICES"] = before
            found["pins"].append(pinned)
        told.append(found)
    return told

def counters(device, port, answers):
    "What their reader makes of a list of datagrams for each request."
    class Peer:
        def __init__(self, *arguments):
            assert arguments == (socket.AF_NETLINK, socket.SOCK_RAW, 20)
            self.left = []

        __enter__ = lambda self: self
        __exit__ = lambda self, *_: None
        settimeout = lambda self, seconds: None

        def send(self, request):
            kind = int.from_bytes(request[4:6], sys.byteorder)
            self.left = [bytes.fromhex(datagram) for datagram in answers[str(kind)]]

        def recv(self, size):
            return self.left.pop(0) if self.left else b""

    nic_metrics.socket = types.SimpleNamespace(
        socket=Peer, AF_NETLINK=socket.AF_NETLINK, SOCK_RAW=socket.SOCK_RAW
    )
    return nic_metrics._nl_read_hw_counters(device, port)

answer({"pins": pins, "counters": counters})
"""


@pytest.fixture(scope="module")
def modelexpress(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Modelexpress]:
    with modelexpress_of(tmp_path_factory.mktemp("modelexpress"), MODELEXPRESS_SIDE, STAND_INS) as found:
        yield found


RATES = ["400 Gb/sec (4X NDR)\n"] * 6 + ["200 Gb/sec (4X HDR)\n", "400 Gb/s", "100000 Mb/sec", "garbage", "\n", None]
ENVIRONS = [
    {"MX_RDMA_NIC_PIN": "auto"},
    {"MX_RDMA_NIC_PIN": "On", "UCX_NET_DEVICES": "mlx5_2:1"},
    {"MX_RDMA_NIC_PIN": "mlx5_1:1"},
    {"MX_RDMA_NIC_PIN": "mlx5_1:1, ,mlx5_10:2", "UCX_NET_DEVICES": "mlx5_2:1"},
    {"MX_RDMA_NIC_PIN": ",mlx5_10"},
    {"MX_RDMA_NIC_PIN": "auto", "MX_RDMA_NIC_PIN_MIN_RATE_GBPS": "200"},
    {"MX_RDMA_NIC_PIN": "auto", "MX_RDMA_NIC_PIN_MIN_RATE_GBPS": "nan"},
    {"MX_RDMA_NIC_PIN": "1", "MX_RDMA_NIC_PIN_MIN_RATE_GBPS": "fast"},
    {"MX_RDMA_NIC_PIN": "off", "UCX_NET_DEVICES": "mlx5_2:1"},
    {"UCX_NET_DEVICES": "mlx5_1:1,mlx5_2:1"},
    {},
]


def random_machine(random: Random, root: Path) -> tuple[TopologyTree, list[str]]:
    """Write a machine of up to 8 GPUs and 8 NICs with everything that decides; return it and its GPUs."""
    tree = TopologyTree(root)
    roots = random.sample(["pci0000:00", "pci0000:40", "pci0000:80", "pci10000:00"], random.randint(1, 4))

    def path(bus: int) -> list[str]:
        complex_ = random.choice(roots)
        domain, start = complex_.removeprefix("pci").split(":")
        switches = [f"{domain}:{start}:{number:02x}.0" for number in range(1, random.choice((1, 2, 3, 3)))]
        return [complex_, *switches[: random.randint(0, 2)], f"{domain}:{bus:02x}:00.0"]

    def numa() -> int | None:
        return random.choice((-1, None, 0, 0, 1, 1))

    gpus = [path(0xA0 + number) for number in range(random.randint(1, 8))]
    for gpu in gpus:
        tree.gpu(*gpu, numa=numa(), pci_class=random.choice(("0x030000", "0x030200")))
    names = [*(f"mlx5_{number}" for number in range(12)), "mlx5_bond_0", "rdmap0s31"]
    for bus, name in enumerate(random.sample(names, random.randint(0, 8))):
        tree.nic(
            name,
            *path(0xC0 + bus),
            numa=numa(),
            rate=random.choice(RATES),
            state=random.choice(("4: ACTIVE\n", "1: DOWN\n")),
            verbs=random.random() < 0.9,
            ports=random.choice([(1,), (1,), (1, 2), (2,)]),
            below=random.choice((None, None, None, "virtio3")),
        )
    # What torch gives has no more than four digits of a domain in common use, and one that isn't on the bus is no GPU.
    return tree, [gpu[-1] for gpu in gpus]


def test_a_gpu_is_pinned_to_the_nic_that_modelexpress_pins_it_to(modelexpress: Modelexpress, tmp_path: Path) -> None:
    random = Random(11)
    machines = []
    for number in range(MACHINES):
        tree, gpus = random_machine(random, tmp_path / str(number))
        min_rate = random.choice((None, None, 200.0, 1000.0))
        machines.append((tree, gpus, min_rate))
    theirs = modelexpress.run(
        "pins",
        {
            "machines": [
                {"root": str(tree.sys.parent), "gpus": gpus, "min_rate": min_rate, "environs": ENVIRONS}
                for tree, gpus, min_rate in machines
            ]
        },
    )
    distinct: set[str] = set()
    for (tree, gpus, min_rate), found in zip(machines, theirs, strict=True):
        topology = read_topology(tree.sys, dev_root=tree.dev)
        ours = affinity_map(topology, AffinityPolicy.MODELEXPRESS, min_rate_gbps=min_rate)
        assert {gpu: ours.get(gpu) for gpu in gpus} == {gpu: port(text) for gpu, text in found["map"].items()}
        distinct.update(str(pin) for pin in found["map"].values())
        known = {nic.device for nic in topology.nics}
        for environ, pinned in zip(ENVIRONS, found["pins"], strict=True):
            for index, (gpu, allowed) in enumerate(zip(gpus, pinned, strict=True)):
                choice = choose_nics(topology, environ, gpu=gpu, cuda_index=index)
                # What modelexpress leaves in UCX's variable, without devices that aren't there.
                listed = [part.strip() for part in (allowed or "").split(",")]
                expected = [port(name) for name in listed if name.partition(":")[0] in known]
                assert list(choice.ports) == expected, (environ, index, allowed, choice)
    # Not all of one kind: some GPUs get no NIC, and most names are given to somebody.
    assert "None" in distinct
    assert len(distinct) > 10


def port(text: str | None) -> PortId | None:
    if text is None:
        return None
    device, _, number = text.partition(":")
    return PortId(device, int(number or 1))


def test_the_same_netlink_messages_say_the_same_to_modelexpress(modelexpress: Modelexpress) -> None:
    values = {"rx_write_requests": 12, "rdma_tx_bytes": 2**63 + 5, "rdma_rx_bytes": 7, "odd.name": 0}
    with fake_kernel() as kernel:
        kernel.devices = {"mlx5_0": FakeDevice(0, {1: {}}), "mlx5_4": FakeDevice(4, {2: values})}
        ours = NetlinkStatistics(kernel.open)
        assert ours.read(PortId("mlx5_4", 2)) == (4, values)
        ours.close()
    answers = {kind: [datagram.hex() for datagram in sent] for kind, sent in kernel.answered.items()}
    assert modelexpress.run("counters", {"device": "mlx5_4", "port": 2, "answers": answers}) == values
