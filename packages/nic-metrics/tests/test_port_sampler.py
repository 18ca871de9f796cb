"""Sampling ports from a tree of files: which files, what of them can't be read, and what that does to the answer."""

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest
from nic_tree import ManualClock, NicTree

from nic_metrics import Direction, PortId, PortSampler, UnknownReason, Utilization

MLX5 = PortId("mlx5_0")
LINK = 50_000_000_000.0


@pytest.fixture
def tree(tmp_path: Path) -> NicTree:
    return NicTree(tmp_path)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


class Sampled:
    """A sampler of one port, whose clock is turned by a second before each sample."""

    def __init__(self, sampler: PortSampler, clock: ManualClock, port: PortId) -> None:
        self.sampler = sampler
        self.clock = clock
        self.port = port

    def __call__(self, seconds: float = 1.0) -> Utilization:
        self.clock.advance(seconds)
        return self.sampler.sample()[self.port]


@pytest.fixture
def sampled(tree: NicTree, clock: ManualClock) -> Iterator[Callable[[PortId], Sampled]]:
    samplers: list[PortSampler] = []

    def make(port: PortId) -> Sampled:
        samplers.append(PortSampler([port], root=tree.root, clock=clock))
        return Sampled(samplers[-1], clock, port)

    yield make
    for sampler in samplers:
        sampler.close()


class Opened:
    """The paths that were opened, and those whose reading fails."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.paths: list[str] = []
        self.failing: dict[str, int] = {}
        self._real_open, self._real_pread = os.open, os.pread
        monkeypatch.setattr(os, "open", self._open)
        monkeypatch.setattr(os, "pread", self._pread)

    def _open(self, path: str, flags: int) -> int:
        self.paths.append(path)
        return self._real_open(path, flags)

    def _pread(self, fd: int, size: int, offset: int) -> bytes:
        path = Path(f"/proc/self/fd/{fd}").readlink()
        for ending, number in self.failing.items():
            if str(path).endswith(ending):
                raise OSError(number, os.strerror(number))
        return self._real_pread(fd, size, offset)

    def count(self, ending: str) -> int:
        return sum(path.endswith(ending) for path in self.paths)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Opened:
    return Opened(monkeypatch)


def words(tx: int | str, rx: int | str = 0) -> dict[str, str | int]:
    return {"counters/port_xmit_data": tx, "counters/port_rcv_data": rx}


def test_a_port_is_measured_between_two_samples(tree: NicTree, sampled: Callable[[PortId], Sampled]) -> None:
    tree.port("mlx5_0", words(230_442_669_431_839, 230_539_874_932_483))
    sample = sampled(MLX5)
    assert sample().reason is UnknownReason.FIRST_SAMPLE
    tree.write("mlx5_0", words(230_442_669_431_839 + 6_250_000_000, 230_539_874_932_483 + 1_250_000_000))
    assert sample() == Utilization(0.5, None, LINK / 2, LINK / 10, LINK, "counters")
    assert sample() == Utilization(0.0, None, 0.0, 0.0, LINK, "counters")


@pytest.mark.parametrize(
    ("tx", "rx", "source", "bytes_per_count"),
    [
        (["counters_ext/port_xmit_data_64"], ["counters_ext/port_rcv_data_64"], "counters_ext", 4),
        (["counters/port_xmit_data"], ["counters/port_rcv_data"], "counters", 4),
        (["hw_counters/rdma_tx_bytes"], ["hw_counters/rdma_rx_bytes"], "hw_counters/rdma_bytes", 1),
        (["hw_counters/tx_bytes"], ["hw_counters/rx_bytes"], "hw_counters/bytes", 1),
        (
            ["hw_counters/tx_rdma_ucast_bytes", "hw_counters/tx_rdma_mcast_bytes"],
            ["hw_counters/rx_rdma_ucast_bytes", "hw_counters/rx_rdma_mcast_bytes"],
            "hw_counters/rdma_cast_bytes",
            1,
        ),
        (["hw_counters/hw_tx_bytes_cnt"], ["hw_counters/hw_rx_bytes_cnt"], "hw_counters/bytes_cnt", 1),
        (
            ["hw_counters/ip4OutOctets", "hw_counters/ip6OutOctets"],
            ["hw_counters/ip4InOctets", "hw_counters/ip6InOctets"],
            "hw_counters/ip_octets",
            1,
        ),
    ],
)
@pytest.mark.parametrize("device", ["mlx5_0", "rdmap0s31", "ibp152s0f0"])
def test_d09_d10_d11_d29_the_unit_is_a_property_of_the_file_and_never_of_the_device(
    tree: NicTree,
    sampled: Callable[[PortId], Sampled],
    device: str,
    tx: list[str],
    rx: list[str],
    source: str,
    bytes_per_count: int,
) -> None:
    tree.port(device, {"hw_counters/lifespan": 10} | dict.fromkeys(tx + rx, 1000))
    sample = sampled(PortId(device))
    sample()
    tree.write(device, dict.fromkeys(tx, 1300) | dict.fromkeys(rx, 1100))
    got = sample()
    assert got.source == source
    assert got.tx_bytes_per_second == 300 * len(tx) * bytes_per_count
    assert got.rx_bytes_per_second == 100 * len(rx) * bytes_per_count


def test_d27_files_of_unknown_names_are_no_byte_counters(tree: NicTree, sampled: Callable[[PortId], Sampled]) -> None:
    tree.port("mlx5_0", {"counters/port_xmit_data_lanes": 5, "hw_counters/lifespan": 12, "hw_counters/tx_octets": 5})
    sample = sampled(MLX5)
    sample()
    assert sample() == Utilization(None, UnknownReason.NO_BYTE_COUNTER, link_bytes_per_second=LINK)


def test_d01_a_counter_without_pma_is_absent_and_other_devices_are_unaffected(
    tree: NicTree, clock: ManualClock
) -> None:
    tree.port("i40iw0", words("N/A (no PMA)\n", "N/A (no PMA)\n"))
    tree.port("mlx5_0", words(0))
    with PortSampler([PortId("i40iw0"), MLX5], root=tree.root, clock=clock) as sampler:
        sampler.sample()
        clock.advance(1)
        got = sampler.sample()
    assert got[PortId("i40iw0")].reason is UnknownReason.NO_BYTE_COUNTER
    assert got[MLX5].value == 0.0


@pytest.mark.parametrize("text", ["", "\n", "-1\n", "0x10\n", "1.5\n", "12 13\n", "٣\n", f"{2**64}\n", "9" * 5000])
def test_text_that_is_no_count_is_unreadable_and_not_zero(
    tree: NicTree, sampled: Callable[[PortId], Sampled], text: str
) -> None:
    tree.port("mlx5_0", words(text, text))
    sample = sampled(MLX5)
    sample()
    assert sample().reason is UnknownReason.NO_BYTE_COUNTER


@pytest.mark.parametrize("text", ["7", "7\n", "7\n\n", " 7 \n"])
def test_d18_line_ends_of_a_counter_make_no_difference(
    tree: NicTree, sampled: Callable[[PortId], Sampled], text: str
) -> None:
    tree.port("mlx5_0", words(text, text))
    sample = sampled(MLX5)
    sample()
    assert sample().value == 0.0


def test_d03_a_rate_unreadable_at_first_does_not_disable_the_sampler(
    tree: NicTree, sampled: Callable[[PortId], Sampled], opened: Opened
) -> None:
    tree.port("mlx5_0", words(0))
    opened.failing["/rate"] = errno.EINVAL
    sample = sampled(MLX5)
    sample()
    assert sample().reason is UnknownReason.CAPACITY_UNKNOWN
    del opened.failing["/rate"]
    assert sample().reason is UnknownReason.CAPACITY_CHANGED
    assert sample().value == 0.0


def test_d05_a_counter_that_answers_einval_is_not_read_again_until_enabled(
    tree: NicTree, sampled: Callable[[PortId], Sampled], opened: Opened
) -> None:
    tree.port("mlx5_0", words(0))
    opened.failing["port_xmit_data"] = errno.EINVAL
    sample = sampled(MLX5)
    for _ in range(4):
        got = sample()
    assert (got.value, got.missing) == (0.0, Direction.TX)
    assert opened.count("port_xmit_data") == 1
    del opened.failing["port_xmit_data"]
    assert sample().missing is Direction.TX
    sample.sampler.enable()
    sample()
    assert (sample().missing, opened.count("port_xmit_data")) == (None, 2)


def test_another_error_of_a_held_file_keeps_the_baseline(
    tree: NicTree, sampled: Callable[[PortId], Sampled], opened: Opened
) -> None:
    tree.port("mlx5_0", words(0))
    sample = sampled(MLX5)
    sample()
    opened.failing["_data"] = errno.EIO
    assert sample().reason is UnknownReason.NO_BYTE_COUNTER
    opened.failing.clear()
    tree.write("mlx5_0", words(500))
    assert sample().tx_bytes_per_second == 1000.0
    assert opened.count("port_xmit_data") == 1


def test_d07_a_device_without_counters_does_not_hide_the_one_beside_it(tree: NicTree, clock: ManualClock) -> None:
    tree.port("irdma0")
    tree.port("mlx5_0", words(0))
    ports = [PortId("irdma0"), MLX5]
    with PortSampler(ports, root=tree.root, clock=clock) as sampler:
        sampler.sample()
        clock.advance(1)
        got = sampler.sample()
    assert list(got) == ports
    assert got[ports[0]].reason is UnknownReason.NO_BYTE_COUNTER
    assert got[MLX5].value == 0.0


def test_d11_words_win_over_hw_counters_without_byte_totals(
    tree: NicTree, sampled: Callable[[PortId], Sampled]
) -> None:
    tree.port("mlx5_0", words(0) | {"hw_counters/lifespan": 12, "hw_counters/rx_write_requests": 99})
    sample = sampled(MLX5)
    sample()
    tree.write("mlx5_0", words(100))
    got = sample()
    assert (got.source, got.tx_bytes_per_second) == ("counters", 400.0)


def test_d13_d15_the_64_bit_files_are_preferred_and_ports_are_independent(tree: NicTree, clock: ManualClock) -> None:
    extended = {"counters_ext/port_xmit_data_64": 0, "counters_ext/port_rcv_data_64": 4_631_917}
    tree.port("mlx4_0", {**words(2**32 - 1), **extended}, port=1)
    tree.port("mlx4_0", words(2**32 - 1), port=2)
    first, second = PortId("mlx4_0", 1), PortId("mlx4_0", 2)
    with PortSampler([first, second], root=tree.root, clock=clock) as sampler:
        sampler.sample()
        tree.write("mlx4_0", {"counters_ext/port_rcv_data_64": 4_631_917 + 250})
        clock.advance(1)
        got = sampler.sample()
    assert (got[first].source, got[first].rx_bytes_per_second) == ("counters_ext", 1000.0)
    assert (got[second].value, got[second].reason) == (None, UnknownReason.COUNTER_SATURATED)


def test_a_source_that_went_away_is_replaced_with_a_window_of_unknown(
    tree: NicTree, sampled: Callable[[PortId], Sampled], opened: Opened
) -> None:
    tree.port("mlx5_0", {**words(10**6), "counters_ext/port_xmit_data_64": 5, "counters_ext/port_rcv_data_64": 5})
    sample = sampled(MLX5)
    sample()
    opened.failing["_data_64"] = errno.EINVAL
    assert sample().reason is UnknownReason.SOURCE_CHANGED
    got = sample()
    assert (got.value, got.source) == (0.0, "counters")


def test_an_error_that_passes_does_not_lead_to_worse_counters(
    tree: NicTree, sampled: Callable[[PortId], Sampled], opened: Opened
) -> None:
    tree.port("mlx4_0", {**words(0), "counters_ext/port_xmit_data_64": 5, "counters_ext/port_rcv_data_64": 5})
    sample = sampled(PortId("mlx4_0"))
    sample()
    opened.failing["_data_64"] = errno.EIO
    assert sample().reason is UnknownReason.NO_BYTE_COUNTER
    opened.failing.clear()
    tree.write("mlx4_0", {"counters_ext/port_xmit_data_64": 505})
    got = sample()
    assert (got.source, got.tx_bytes_per_second) == ("counters_ext", 1000.0)


def test_d17_a_link_that_goes_down_is_unknown_and_starts_afresh_when_up(
    tree: NicTree, sampled: Callable[[PortId], Sampled]
) -> None:
    tree.port("mlx5_0", words(0))
    sample = sampled(MLX5)
    sample()
    assert sample().value == 0.0
    tree.write("mlx5_0", {"state": "1: DOWN\n", "rate": "10 Gb/sec (4X SDR)\n"})
    got = sample()
    assert (got.value, got.reason) == (None, UnknownReason.PORT_NOT_ACTIVE)
    tree.write("mlx5_0", {"state": "4: ACTIVE\n", "rate": "400 Gb/sec (4X NDR)\n"})
    assert sample().reason is UnknownReason.FIRST_SAMPLE
    assert sample().value == 0.0


def test_a_renegotiated_link_is_measured_against_its_new_rate(
    tree: NicTree, sampled: Callable[[PortId], Sampled]
) -> None:
    tree.port("mlx5_0", words(0))
    sample = sampled(MLX5)
    sample()
    tree.write("mlx5_0", {"rate": "200 Gb/sec (2X NDR)\n"})
    assert sample().reason is UnknownReason.CAPACITY_CHANGED
    tree.write("mlx5_0", words(3_125_000_000))
    got = sample()
    assert (got.value, got.link_bytes_per_second) == (0.5, LINK / 2)


def test_d20_only_the_ports_that_were_named_are_read(tree: NicTree, clock: ManualClock, opened: Opened) -> None:
    for index in range(8):
        tree.port(f"mlx5_{index}", words(0))
    with PortSampler([PortId("mlx5_3")], root=tree.root, clock=clock) as sampler:
        assert list(sampler.sample()) == [PortId("mlx5_3")]
    assert opened.paths
    assert all("/mlx5_3/" in path for path in opened.paths)


def test_d21_a_port_that_does_not_exist_is_said_to_be_missing_and_picked_up_when_it_comes(
    tree: NicTree, sampled: Callable[[PortId], Sampled]
) -> None:
    (tree.root / "mlx5_0").symlink_to("../nowhere")
    sample = sampled(MLX5)
    assert sample() == Utilization(None, UnknownReason.PORT_MISSING)
    (tree.root / "mlx5_0").unlink()
    tree.port("mlx5_0", words(0))
    assert sample().reason is UnknownReason.FIRST_SAMPLE
    assert sample().value == 0.0


@pytest.mark.parametrize("samples_before", [1, 4])
def test_a_device_that_was_replaced_under_its_name_is_not_compared_with_the_old_one(
    tree: NicTree, sampled: Callable[[PortId], Sampled], monkeypatch: pytest.MonkeyPatch, samples_before: int
) -> None:
    tree.port("mlx5_0", words(0))
    sample = sampled(MLX5)
    for _ in range(samples_before):
        sample()
    real_pread, gone = os.pread, set[int]()

    def pread(fd: int, size: int, offset: int) -> bytes:
        if fd not in gone:
            gone.add(fd)
            raise OSError(errno.ENODEV, os.strerror(errno.ENODEV))
        return real_pread(fd, size, offset)

    tree.write("mlx5_0", words(500))
    # Each held file says once that its device is gone; the kernel gives the descriptor's number to the file opened next.
    monkeypatch.setattr(os, "pread", pread)
    assert sample().reason is UnknownReason.SOURCE_CHANGED
    assert sample().value == 0.0


@pytest.mark.parametrize("samples_before", [1, 4])
@pytest.mark.parametrize("name", ["counters/port_xmit_data", "counters/port_rcv_data", "state", "rate"])
def test_a_file_that_was_replaced_in_a_copied_tree_does_not_stand_still_for_ever(
    tree: NicTree, sampled: Callable[[PortId], Sampled], samples_before: int, name: str
) -> None:
    tree.port("mlx5_0", words(5, 5))
    sample = sampled(MLX5)
    for _ in range(samples_before):
        sample()
    text = {"state": "1: DOWN\n", "rate": "0 Gb/sec\n"}.get(name, "500\n")
    # The other direction may be replaced later, or in place.
    tree.write("mlx5_0", {other: 6 for other in words(0) if name.startswith("counters/") and other != name})
    (tree.root / "anew").write_text(text)
    (tree.root / "anew").rename(tree.root / "mlx5_0/ports/1" / name)
    reasons = {"state": UnknownReason.PORT_NOT_ACTIVE, "rate": UnknownReason.CAPACITY_UNKNOWN}
    assert sample().reason is reasons.get(name, UnknownReason.SOURCE_CHANGED)


@pytest.mark.parametrize("samples_before", [1, 4])
def test_a_device_that_was_removed_from_a_copied_tree_is_missing(
    tree: NicTree, sampled: Callable[[PortId], Sampled], samples_before: int
) -> None:
    tree.port("mlx5_0", words(5, 5))
    sample = sampled(MLX5)
    for _ in range(samples_before):
        sample()
    shutil.rmtree(tree.root / "mlx5_0")
    assert sample().reason is UnknownReason.PORT_MISSING


def test_d25_two_quick_samples_are_one_window(tree: NicTree, sampled: Callable[[PortId], Sampled]) -> None:
    tree.port("mlx5_0", {"hw_counters/tx_bytes": 0, "hw_counters/rx_bytes": 0, "hw_counters/lifespan": 50})
    sample = sampled(MLX5)
    sample()
    assert sample(0.3).reason is UnknownReason.WINDOW_TOO_SHORT
    tree.write("mlx5_0", {"hw_counters/tx_bytes": 500})
    assert sample(0.2).tx_bytes_per_second == pytest.approx(1000.0)


def test_a_port_that_states_nothing_but_counters_has_bytes_and_no_utilisation(
    tree: NicTree, sampled: Callable[[PortId], Sampled]
) -> None:
    tree.write("mlx5_0", words(0))
    sample = sampled(MLX5)
    sample()
    assert sample() == Utilization(None, UnknownReason.CAPACITY_UNKNOWN, 0.0, 0.0, None, "counters")


def test_files_are_opened_once_and_let_go_by_close(tree: NicTree, clock: ManualClock, opened: Opened) -> None:
    tree.port("mlx5_0", words(0))
    before = len(list(Path("/proc/self/fd").iterdir()))
    sampler = PortSampler([MLX5], root=tree.root, clock=clock)
    sampler.sample()
    paths = list(opened.paths)
    for _ in range(5):
        clock.advance(1)
        assert sampler.sample()[MLX5].value == 0.0
    assert opened.paths == paths
    sampler.close()
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    assert sampler.sample()[MLX5].reason is UnknownReason.FIRST_SAMPLE
    sampler.close()


def test_a_second_thread_waits_until_the_sample_of_the_first_is_done(tree: NicTree) -> None:
    tree.port("mlx5_0", words(0))
    first_inside, second_inside = Event(), Event()
    overlapped: list[bool] = []

    def clock() -> float:
        if first_inside.is_set():
            second_inside.set()
            return 2.0
        first_inside.set()
        overlapped.append(second_inside.wait(0.3))
        return 1.0

    with PortSampler([MLX5], root=tree.root, clock=clock) as sampler, ThreadPoolExecutor(2) as pool:
        first = pool.submit(sampler.sample)
        assert first_inside.wait(30)
        second = pool.submit(sampler.sample)
        assert first.result(30)[MLX5].reason is UnknownReason.FIRST_SAMPLE
        assert second.result(30)[MLX5].value == 0.0
    assert overlapped == [False]


def test_a_direction_of_which_one_file_is_missing_is_not_measured(
    tree: NicTree, sampled: Callable[[PortId], Sampled]
) -> None:
    files = ["tx_rdma_ucast_bytes", "rx_rdma_ucast_bytes", "rx_rdma_mcast_bytes"]
    tree.port("ionic_0", {f"hw_counters/{name}": 0 for name in files})
    sample = sampled(PortId("ionic_0"))
    sample()
    got = sample()
    assert (got.value, got.missing, got.tx_bytes_per_second) == (0.0, Direction.TX, None)


@pytest.mark.parametrize("seconds", [-0.1, float("nan"), float("inf")])
def test_a_window_that_is_no_time_is_refused(seconds: float) -> None:
    with pytest.raises(ValueError, match="give a finite number of at least 0"):
        PortSampler([MLX5], min_window_seconds=seconds)
