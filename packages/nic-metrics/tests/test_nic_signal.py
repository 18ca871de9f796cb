"""The load of the NICs that transfers use: one port, several rails, or the busiest of some."""

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from nic_tree import ManualClock, NicTree

from nic_metrics import (
    NicSignal,
    NoNicReason,
    PortId,
    SignalReading,
    SignalReason,
    Topology,
    UnknownReason,
    Utilization,
    busiest,
    choose_nics,
    combine_rails,
    nic_signal,
)

Combine = Callable[[Iterable[Utilization]], Utilization]

LINK = 50_000_000_000
"""Bytes a second of a port of 400 Gb/s."""
A, B = PortId("mlx5_0"), PortId("mlx5_1")
FIRST = SignalReading(None, UnknownReason.FIRST_SAMPLE, detail="mlx5_0:1 first_sample by counters")


class Fleet:
    """Ports of a tree, and traffic over them."""

    def __init__(self, root: Path, ports: Iterable[PortId]) -> None:
        self.tree = NicTree(root)
        self.clock = ManualClock()
        self.sent = dict.fromkeys(ports, 0)
        for port in self.sent:
            self.tree.port(port.device)
            self.move(port, 0)

    def move(self, port: PortId, share: float, seconds: float = 1.0) -> None:
        self.sent[port] += int(share * LINK * seconds / 4)
        self.tree.write(port.device, {"counters/port_xmit_data": self.sent[port], "counters/port_rcv_data": 0})

    def signal(self, combine: Combine = combine_rails, max_window_seconds: float = 120.0) -> NicSignal:
        return NicSignal(
            self.sent,
            combine=combine,
            root=self.tree.root,
            clock=self.clock,
            min_window_seconds=0.1,
            max_window_seconds=max_window_seconds,
        )


@pytest.fixture
def one(tmp_path: Path) -> Fleet:
    return Fleet(tmp_path, [A])


@pytest.fixture
def two(tmp_path: Path) -> Fleet:
    return Fleet(tmp_path, [A, B])


def test_the_load_is_that_since_the_reading_before_and_the_first_sample_is_taken_at_once(one: Fleet) -> None:
    signal = one.signal()
    one.move(A, 0.25)
    one.clock.advance(1)
    assert signal.read() == SignalReading(0.25, None, detail="mlx5_0:1 0.250 by counters")
    one.clock.advance(1)
    assert signal.read().value == 0.0
    signal.close()


def test_two_readings_in_quick_succession_give_the_same_load_and_say_how_old_it_is(one: Fleet) -> None:
    signal = one.signal()
    one.move(A, 0.25)
    one.clock.advance(1)
    signal.read()
    # What is sent within the shortest window is noise now, and counts in the next one.
    one.move(A, 1.0, 0.05)
    one.clock.advance(0.05)
    reading = signal.read()
    assert reading.value == 0.25
    assert reading.age_seconds == pytest.approx(0.05)
    one.clock.advance(0.95)
    assert signal.read().value == pytest.approx(0.05)
    signal.close()


def test_a_reading_right_after_the_first_sample_is_unknown_and_not_idle(one: Fleet) -> None:
    signal = one.signal()
    assert signal.read() == FIRST
    signal.close()


def test_a_mean_over_too_long_a_time_is_not_shown_as_now(one: Fleet) -> None:
    signal = one.signal(max_window_seconds=60)
    one.move(A, 0.25, 61)
    one.clock.advance(61)
    assert signal.read() == SignalReading(None, SignalReason.WINDOW_TOO_LONG, detail="61 s, at most 60 s")
    one.move(A, 0.5, 60)
    one.clock.advance(60)
    assert signal.read().value == 0.5
    signal.close()


def test_a_window_that_goes_on_over_an_unreadable_sample_counts_as_long_as_it_is(one: Fleet) -> None:
    signal = one.signal(max_window_seconds=60)
    counters = one.tree.root / "mlx5_0/ports/1/counters"
    texts = {path: path.read_text() for path in counters.iterdir()}
    for path in texts:
        path.write_text("N/A (no PMA)")
    one.clock.advance(31)
    assert signal.read().reason == UnknownReason.NO_BYTE_COUNTER
    for path, text in texts.items():
        path.write_text(text)
    one.clock.advance(31)
    assert signal.read().reason == SignalReason.WINDOW_TOO_LONG
    signal.close()


def test_rails_are_bytes_over_capacity(two: Fleet) -> None:
    signal = two.signal()
    two.move(A, 0.5)
    two.move(B, 0.1)
    two.clock.advance(1)
    reading = signal.read()
    assert reading.value == pytest.approx(0.3)
    assert reading.detail == "mlx5_0:1 0.500, mlx5_1:1 0.100 by counters"
    signal.close()


def test_of_the_busiest_the_greatest_counts(two: Fleet) -> None:
    signal = two.signal(busiest)
    two.move(A, 0.5)
    two.clock.advance(1)
    assert signal.read().value == 0.5
    signal.close()


@pytest.mark.parametrize("combine", [combine_rails, busiest])
def test_a_rail_that_is_down_is_neither_capacity_nor_idle(two: Fleet, combine: Combine) -> None:
    signal = two.signal(combine)
    two.tree.write("mlx5_1", {"state": "1: DOWN\n", "rate": "10 Gb/sec (4X SDR)\n"})
    two.move(A, 0.5)
    two.clock.advance(1)
    assert signal.read().value == 0.5
    two.tree.write("mlx5_0", {"state": "1: DOWN\n"})
    two.clock.advance(1)
    detail = "mlx5_0:1 port_not_active, mlx5_1:1 port_not_active"
    assert signal.read() == SignalReading(None, UnknownReason.PORT_NOT_ACTIVE, detail=detail)
    signal.close()


@pytest.mark.parametrize("combine", [combine_rails, busiest])
def test_a_port_that_cannot_be_seen_beside_idle_ones_is_not_idle(two: Fleet, combine: Combine) -> None:
    signal = two.signal(combine)
    two.tree.write("mlx5_1", {"counters/port_xmit_data": 2**32 - 1})
    two.clock.advance(1)
    reading = signal.read()
    assert (reading.value, reading.reason) == (None, UnknownReason.COUNTER_SATURATED)
    assert reading.detail.startswith("mlx5_0:1 0.000, mlx5_1:1 counter_saturated")
    signal.close()


def test_a_direction_that_cannot_be_read_is_told(one: Fleet) -> None:
    (one.tree.root / "mlx5_0/ports/1/counters/port_rcv_data").unlink()
    signal = one.signal()
    one.sent[A] += LINK // 16
    one.tree.write("mlx5_0", {"counters/port_xmit_data": one.sent[A]})
    one.clock.advance(1)
    assert signal.read() == SignalReading(0.25, None, detail="mlx5_0:1 0.250 by counters, at least: rx can't be read")
    signal.close()


@pytest.mark.parametrize("combine", [combine_rails, busiest])
@pytest.mark.parametrize("file", ["port_xmit_data", "port_rcv_data"])
def test_a_port_that_is_seen_by_half_is_never_idle(two: Fleet, combine: Combine, file: str) -> None:
    (two.tree.root / "mlx5_1/ports/1/counters" / file).unlink()
    signal = two.signal(combine)
    two.sent[A] += LINK // 400
    two.tree.write("mlx5_0", {"counters/port_xmit_data": two.sent[A], "counters/port_rcv_data": two.sent[A]})
    two.clock.advance(1)
    reading = signal.read()
    assert (reading.value, reading.reason) == (None, SignalReason.ONE_DIRECTION)
    assert reading.detail.endswith(f", at least: {'tx' if 'xmit' in file else 'rx'} can't be read")
    two.sent[A] += LINK // 16
    two.tree.write("mlx5_0", {"counters/port_xmit_data": two.sent[A], "counters/port_rcv_data": two.sent[A]})
    two.clock.advance(1)
    assert signal.read().value == (0.25 if combine is busiest else 0.125)
    signal.close()


def test_what_was_chosen_is_measured(two: Fleet) -> None:
    for choice, load in (
        (choose_nics(Topology((), ()), {}, devices="mlx5_0:1,mlx5_1:1"), 0.25),
        (choose_nics(Topology((), ()), {}, busiest_of="mlx5_0:1,mlx5_1:1"), 0.5),
    ):
        signal = nic_signal(choice, root=two.tree.root, clock=two.clock)
        two.move(A, 0.5)
        two.clock.advance(1)
        assert signal.read().value == load
        signal.close()


def test_where_nothing_was_chosen_the_reason_is_told() -> None:
    signal = nic_signal(choose_nics(Topology((), ()), {}))
    reading = signal.read()
    assert (reading.value, reading.reason) == (None, NoNicReason.TRANSPORT_CHOOSES)
    assert reading.detail == "neither MX_RDMA_NIC_PIN nor UCX_NET_DEVICES pins: UCX chooses"
    signal.close()


def test_a_port_that_is_not_there_is_unknown_until_it_comes(tmp_path: Path) -> None:
    tree, clock = NicTree(tmp_path), ManualClock()
    signal = NicSignal([A], root=tmp_path, clock=clock)
    clock.advance(1)
    assert signal.read() == SignalReading(None, UnknownReason.PORT_MISSING, detail="mlx5_0:1 port_missing")
    tree.port("mlx5_0", {"counters/port_xmit_data": 0, "counters/port_rcv_data": 0})
    clock.advance(1)
    assert signal.read() == FIRST
    clock.advance(1)
    assert signal.read().value == 0.0
    signal.close()


def test_a_signal_of_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="name at least one"):
        NicSignal([], root=tmp_path)
    for seconds in (-1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="max_window_seconds"):
            NicSignal([A], root=tmp_path, max_window_seconds=seconds)
