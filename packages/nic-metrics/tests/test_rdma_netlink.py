"""Statistics over netlink: the messages, what can go wrong with them, and ports that show no counters as files."""

import errno
import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nic_tree import ManualClock, NicTree
from rdma_netlink_peer import FakeDevice, FakeKernel, error, fake_kernel, handle, message, statistics

from nic_metrics import NETLINK_SOURCES, ByteSource, NetlinkStatistics, PortId, PortSampler, UnknownReason, Utilization
from nic_metrics import _netlink_messages as wire

VF = PortId("mlx5_4")
LINK = 50_000_000_000.0
# What mlx5 answers by default: requests and errors, no bytes.
DEFAULT = {"rx_write_requests": 12, "rx_read_requests": 3, "out_of_sequence": 0}
GET, STAT = 5 << 10 | 1, 5 << 10 | 17


@pytest.fixture
def kernel() -> Iterator[FakeKernel]:
    with fake_kernel() as kernel:
        kernel.devices = {
            "mlx5_0": FakeDevice(0, {1: {**DEFAULT, "rdma_tx_bytes": 5, "rdma_rx_bytes": 6}}),
            "mlx5_4": FakeDevice(4, {1: {**DEFAULT, "rdma_tx_bytes": 1000, "rdma_rx_bytes": 2**64 - 1}}),
        }
        yield kernel


@pytest.fixture
def statistics_of(kernel: FakeKernel) -> Iterator[NetlinkStatistics]:
    reader = NetlinkStatistics(kernel.open)
    yield reader
    reader.close()


def test_counters_are_read_by_name_with_the_index_of_the_device(statistics_of: NetlinkStatistics) -> None:
    assert statistics_of.read(VF) == (4, {**DEFAULT, "rdma_tx_bytes": 1000, "rdma_rx_bytes": 2**64 - 1})
    assert statistics_of.knows(VF)


def test_the_device_is_looked_up_once_and_the_socket_kept(kernel: FakeKernel, statistics_of: NetlinkStatistics) -> None:
    for _ in range(3):
        assert statistics_of.read(VF) is not None
    assert (kernel.requests, kernel.opened) == ([GET, STAT, STAT, STAT], 1)


def test_a_device_that_comes_anew_under_the_name_has_another_index(
    kernel: FakeKernel, statistics_of: NetlinkStatistics
) -> None:
    statistics_of.read(VF)
    kernel.devices["mlx5_4"] = FakeDevice(9, {1: {"rdma_tx_bytes": 1}})
    assert statistics_of.read(VF) == (9, {"rdma_tx_bytes": 1})


def test_an_index_that_another_device_took_over_is_looked_up_again(
    kernel: FakeKernel, statistics_of: NetlinkStatistics
) -> None:
    statistics_of.read(VF)
    kernel.devices = {
        "mlx5_7": FakeDevice(4, {1: {"rdma_tx_bytes": 7}}),
        "mlx5_4": FakeDevice(5, {1: {"rdma_tx_bytes": 5}}),
    }
    assert statistics_of.read(VF) == (5, {"rdma_tx_bytes": 5})


def test_a_device_that_is_not_there_is_unknown_until_it_comes(
    kernel: FakeKernel, statistics_of: NetlinkStatistics
) -> None:
    device = kernel.devices.pop("mlx5_4")
    assert statistics_of.read(VF) is None
    assert not statistics_of.knows(VF)
    kernel.devices["mlx5_4"] = device
    assert statistics_of.read(VF) is not None


def test_a_port_that_answers_einval_is_not_asked_again_until_enabled(
    kernel: FakeKernel, statistics_of: NetlinkStatistics
) -> None:
    second = PortId("mlx5_4", 2)
    assert statistics_of.read(second) is None
    asked = len(kernel.requests)
    assert statistics_of.read(second) is None
    assert len(kernel.requests) == asked
    assert (statistics_of.knows(second), statistics_of.knows(VF)) == (False, True)
    kernel.devices["mlx5_4"].ports[2] = {"rdma_tx_bytes": 2}
    statistics_of.enable()
    assert statistics_of.read(second) == (4, {"rdma_tx_bytes": 2})


def test_another_error_passes(kernel: FakeKernel, statistics_of: NetlinkStatistics) -> None:
    kernel.answer = lambda sequence: [error(sequence, errno.EBUSY, b"")]
    assert statistics_of.read(VF) is None
    kernel.answer = None
    assert statistics_of.read(VF) is not None


@pytest.mark.parametrize("number", [errno.EPROTONOSUPPORT, errno.EPERM, errno.EAFNOSUPPORT])
def test_a_kernel_without_the_family_is_asked_once_until_enabled(number: int) -> None:
    opened: list[int] = []

    def refuse() -> socket.socket:
        opened.append(number)
        raise OSError(number, os.strerror(number))

    reader = NetlinkStatistics(refuse)
    assert [reader.read(VF), reader.read(VF)] == [None, None]
    assert len(opened) == 1
    reader.enable()
    assert reader.read(VF) is None
    assert len(opened) == 2


def test_a_passing_lack_of_descriptors_is_tried_again(kernel: FakeKernel) -> None:
    errors = [OSError(errno.EMFILE, "")]

    def open_later() -> socket.socket:
        if errors:
            raise errors.pop()
        return kernel.open()

    reader = NetlinkStatistics(open_later)
    assert reader.read(VF) is None
    assert reader.read(VF) is not None
    reader.close()


def test_an_answer_to_an_earlier_request_is_passed_over(kernel: FakeKernel, statistics_of: NetlinkStatistics) -> None:
    statistics_of.read(VF)
    kernel.answer = lambda sequence: [
        statistics(sequence - 1, 4, "mlx5_4", 1, {"rdma_tx_bytes": 1}),
        message(0x3FF, sequence, b"\0" * 8) + statistics(sequence, 4, "mlx5_4", 1, {"rdma_tx_bytes": 2}),
    ]
    assert statistics_of.read(VF) == (4, {"rdma_tx_bytes": 2})


def test_a_peer_that_sends_anything_but_the_answer_does_not_hold_up_the_reader(
    kernel: FakeKernel, statistics_of: NetlinkStatistics
) -> None:
    statistics_of.read(VF)
    kernel.answer = lambda sequence: [message(STAT, sequence + 5, b"")] * 100
    assert statistics_of.read(VF) is None
    kernel.answer = None
    assert statistics_of.read(VF) is not None
    assert kernel.opened == 2


def test_a_peer_that_is_silent_costs_one_bounded_wait_and_a_new_socket(
    kernel: FakeKernel, statistics_of: NetlinkStatistics, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nic_metrics.netlink._TIMEOUT_SECONDS", 0.01)
    statistics_of.read(VF)
    statistics_of.close()
    kernel.answer = lambda _: []
    assert statistics_of.read(VF) is None
    kernel.answer = None
    monkeypatch.undo()
    assert statistics_of.read(VF) is not None
    assert kernel.opened == 3


def test_a_child_process_opens_a_socket_of_its_own(
    kernel: FakeKernel, statistics_of: NetlinkStatistics, monkeypatch: pytest.MonkeyPatch
) -> None:
    statistics_of.read(VF)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    assert statistics_of.read(VF) is not None
    assert kernel.opened == 2


@given(st.data())
def test_messages_that_were_cut_or_damaged_never_raise(data: st.DataObject) -> None:
    whole = bytearray(statistics(1, 4, "mlx5_4", 1, {**DEFAULT, "rdma_tx_bytes": 2**40}))
    for _ in range(data.draw(st.integers(0, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(whole[: data.draw(st.integers(0, len(whole)))])
    for part in wire.messages(cut):
        wire.device(part.payload)
        wire.error_number(part.payload)
        assert all(0 <= value < 2**64 for value in wire.counters(part.payload).values())


def test_requests_are_what_the_kernel_expects_byte_by_byte() -> None:
    assert wire.list_devices_request(7) == struct.pack("=IHHII", 16, 5121, 0x301, 7, 0)
    assert wire.statistics_request(8, 4, 1) == (
        struct.pack("=IHHII", 32, 5137, 0x1, 8, 0) + struct.pack("=HHI", 8, 1, 4) + struct.pack("=HHI", 8, 3, 1)
    )


def test_a_message_that_names_no_device_names_none() -> None:
    assert wire.device(handle(3, "mlx5_3")) == (3, "mlx5_3")
    assert wire.device(handle(3, "mlx5_3")[:8]) is None


class Sampled:
    """A sampler of the virtual function, whose clock is turned by a second before each sample."""

    def __init__(self, tree: NicTree, kernel: FakeKernel) -> None:
        self.clock = ManualClock()
        self.sampler = PortSampler([VF], root=tree.root, clock=self.clock, statistics=NetlinkStatistics(kernel.open))

    def __call__(self) -> Utilization:
        self.clock.advance(1)
        return self.sampler.sample()[VF]


@pytest.fixture
def tree(tmp_path: Path) -> NicTree:
    return NicTree(tmp_path)


@pytest.fixture
def sampled(tree: NicTree, kernel: FakeKernel) -> Iterator[Sampled]:
    sampled = Sampled(tree, kernel)
    yield sampled
    sampled.sampler.close()


@pytest.mark.parametrize("source", NETLINK_SOURCES, ids=lambda source: source.name)
def test_a_port_without_counter_files_is_measured_in_bytes(
    tree: NicTree, kernel: FakeKernel, sampled: Sampled, source: ByteSource
) -> None:
    tree.port("mlx5_4")
    kernel.devices["mlx5_4"].ports[1] = dict.fromkeys(source.tx_files + source.rx_files, 1000)
    assert sampled().reason is UnknownReason.FIRST_SAMPLE
    kernel.devices["mlx5_4"].ports[1].update(dict.fromkeys(source.tx_files, 1000 + int(LINK) // 4))
    share = len(source.tx_files) / 4
    assert sampled() == Utilization(share, None, share * LINK, 0.0, LINK, source.name)
    assert sampled().value == 0.0


def test_mlx5_without_its_optional_counters_is_unknown_and_never_idle(
    tree: NicTree, kernel: FakeKernel, sampled: Sampled
) -> None:
    tree.port("mlx5_4")
    kernel.devices["mlx5_4"].ports[1] = dict(DEFAULT)
    assert {sampled().reason for _ in range(3)} == {UnknownReason.NO_BYTE_COUNTER}


def test_files_are_preferred_and_netlink_is_not_even_asked(tree: NicTree, kernel: FakeKernel, sampled: Sampled) -> None:
    tree.port("mlx5_4", {"counters/port_xmit_data": 1, "counters/port_rcv_data": 1})
    sampled()
    assert sampled().source == "counters"
    assert kernel.requests == []


def test_going_over_from_files_to_netlink_starts_afresh(tree: NicTree, kernel: FakeKernel, sampled: Sampled) -> None:
    tree.port("mlx5_4", {"counters/port_xmit_data": 10, "counters/port_rcv_data": 10})
    kernel.devices["mlx5_4"].ports[1] = {"rdma_tx_bytes": 10**15, "rdma_rx_bytes": 10**15}
    sampled()
    sampled.sampler.close()
    for name in ("port_xmit_data", "port_rcv_data"):
        (tree.root / "mlx5_4/ports/1/counters" / name).unlink()
    sampled()
    assert sampled() == Utilization(0.0, None, 0.0, 0.0, LINK, "netlink/rdma_bytes")


def test_a_device_that_comes_anew_is_no_delta(tree: NicTree, kernel: FakeKernel, sampled: Sampled) -> None:
    tree.port("mlx5_4")
    kernel.devices["mlx5_4"].ports[1] = {"rdma_tx_bytes": 0, "rdma_rx_bytes": 0}
    sampled()
    kernel.devices["mlx5_4"] = FakeDevice(11, {1: {"rdma_tx_bytes": 10**9, "rdma_rx_bytes": 0}})
    assert sampled().reason is UnknownReason.SOURCE_CHANGED
    assert sampled().value == 0.0


def test_a_failure_that_passes_keeps_the_window_open(tree: NicTree, kernel: FakeKernel, sampled: Sampled) -> None:
    tree.port("mlx5_4")
    kernel.devices["mlx5_4"].ports[1] = {"rdma_tx_bytes": 0, "rdma_rx_bytes": 0}
    sampled()
    kernel.answer = lambda sequence: [error(sequence, errno.EBUSY, b"")]
    assert sampled().reason is UnknownReason.NO_BYTE_COUNTER
    kernel.answer = None
    kernel.devices["mlx5_4"].ports[1] = {"rdma_tx_bytes": int(LINK), "rdma_rx_bytes": 0}
    assert sampled().value == 0.5


def test_a_failure_that_passes_does_not_lead_to_a_file_that_shows_less(
    tree: NicTree, kernel: FakeKernel, sampled: Sampled
) -> None:
    tree.port("mlx5_4", {"counters/port_xmit_data": 0})
    kernel.devices["mlx5_4"].ports[1] = {"rdma_tx_bytes": 0, "rdma_rx_bytes": 0}
    assert sampled().source == "netlink/rdma_bytes"
    kernel.answer = lambda sequence: [error(sequence, errno.EBUSY, b"")]
    assert sampled() == Utilization(None, UnknownReason.NO_BYTE_COUNTER, link_bytes_per_second=LINK)
    kernel.answer = None
    assert sampled() == Utilization(0.0, None, 0.0, 0.0, LINK, "netlink/rdma_bytes")


def test_one_direction_alone_is_measured_and_flagged(tree: NicTree, kernel: FakeKernel, sampled: Sampled) -> None:
    tree.port("mlx5_4")
    kernel.devices["mlx5_4"].ports[1] = {"rdma_rx_bytes": 0}
    sampled()
    assert (sampled().value, sampled().missing) == (0.0, "tx")


def test_a_saturated_total_is_unknown(tree: NicTree, sampled: Sampled) -> None:
    tree.port("mlx5_4")
    sampled()
    assert sampled().reason is UnknownReason.COUNTER_SATURATED


def test_a_tree_elsewhere_never_asks_this_kernel(tree: NicTree, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[int] = []
    real = socket.socket

    def spy(family: int = -1, *arguments: int) -> socket.socket:
        opened.append(family)
        return real(family, *arguments)

    monkeypatch.setattr(socket, "socket", spy)
    tree.port("mlx5_4")
    with PortSampler([VF], root=tree.root) as sampler:
        sampler.sample()
    assert opened == []
    # The kernel's own directory; that it has no such device here makes no difference.
    with PortSampler([PortId("no_such_device")]) as sampler:
        assert sampler.sample()[PortId("no_such_device")].reason is UnknownReason.PORT_MISSING
    assert opened == [socket.AF_NETLINK]
