"""The load of the NICs that transfers use: one port, several rails, or the busiest of some."""

from collections.abc import Iterable
from pathlib import Path

import pytest
from nic_tree import ManualClock, NicTree

from nic_metrics import (
    Combine,
    Direction,
    NicSignal,
    PortId,
    SignalReading,
    SignalReason,
    UnknownReason,
    Utilization,
    combine_ports,
)

LINK = 50_000_000_000
"""Bytes a second of a port of 400 Gb/s."""
A, B = PortId("mlx5_0"), PortId("mlx5_1")
FIRST = SignalReading(None, UnknownReason.FIRST_SAMPLE, detail="mlx5_0:1")


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

    def signal(self, combine: Combine = Combine.RAILS, max_window_seconds: float = 120.0) -> NicSignal:
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
    assert reading.detail == "mlx5_0:1 0.500 by counters, mlx5_1:1 0.100 by counters"
    signal.close()


def test_of_the_busiest_the_greatest_counts(two: Fleet) -> None:
    signal = two.signal(Combine.BUSIEST)
    two.move(A, 0.5)
    two.clock.advance(1)
    assert signal.read().value == 0.5
    signal.close()


@pytest.mark.parametrize("combine", Combine)
def test_a_rail_that_is_down_is_neither_capacity_nor_idle(two: Fleet, combine: Combine) -> None:
    signal = two.signal(combine)
    two.tree.write("mlx5_1", {"state": "1: DOWN\n", "rate": "10 Gb/sec (4X SDR)\n"})
    two.move(A, 0.5)
    two.clock.advance(1)
    assert signal.read().value == 0.5
    two.tree.write("mlx5_0", {"state": "1: DOWN\n"})
    two.clock.advance(1)
    assert signal.read() == SignalReading(None, UnknownReason.PORT_NOT_ACTIVE, detail="mlx5_0:1")
    signal.close()


def test_a_rail_that_cannot_be_seen_makes_the_rails_unknown(two: Fleet) -> None:
    signal = two.signal()
    two.tree.write("mlx5_1", {"counters/port_xmit_data": 2**32 - 1})
    two.clock.advance(1)
    assert signal.read() == SignalReading(None, UnknownReason.COUNTER_SATURATED, detail="mlx5_1:1")
    signal.close()


def test_a_busy_port_beside_one_that_cannot_be_seen_is_a_lower_bound_and_an_idle_one_is_unknown(two: Fleet) -> None:
    signal = two.signal(Combine.BUSIEST)
    two.tree.write("mlx5_1", {"counters/port_xmit_data": 2**32 - 1})
    two.move(A, 0.5)
    two.clock.advance(1)
    assert signal.read() == SignalReading(0.5, None, detail="mlx5_0:1 0.500 by counters, mlx5_1:1 unknown by counters")
    two.clock.advance(1)
    assert signal.read().reason == UnknownReason.COUNTER_SATURATED
    signal.close()


def test_a_direction_that_cannot_be_read_is_told() -> None:
    use = Utilization(0.25, None, 1.0, None, 4.0, "counters", Direction.RX)
    assert combine_ports({A: use}, Combine.RAILS) == SignalReading(
        0.25, None, detail="mlx5_0:1 0.250 by counters (at least, rx can't be read)"
    )


def test_the_busier_direction_of_all_rails_together_counts() -> None:
    uses = {A: Utilization(0.5, None, 5.0, 1.0, 10.0), B: Utilization(0.5, None, 1.0, 5.0, 10.0)}
    assert combine_ports(uses, Combine.RAILS).value == 0.3
    assert combine_ports({A: Utilization(1.0, None, 12.0, 0.0, 10.0)}, Combine.RAILS).value == 1.0


def test_a_port_that_is_not_there_is_unknown_until_it_comes(tmp_path: Path) -> None:
    tree, clock = NicTree(tmp_path), ManualClock()
    signal = NicSignal([A], root=tmp_path, clock=clock)
    clock.advance(1)
    assert signal.read() == SignalReading(None, UnknownReason.PORT_MISSING, detail="mlx5_0:1")
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
