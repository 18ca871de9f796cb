"""A sampler takes a shorter way where nothing but traffic happens: it must say what `measure` says, whatever the files hold."""

import errno
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nic_tree import ManualClock, NicTree

from nic_metrics import (
    BYTE_SOURCES,
    ByteSource,
    CounterSet,
    PortId,
    PortSample,
    PortSampler,
    UnknownReason,
    measure,
    next_baseline,
)

PORT = PortId("mlx5_0")
WORDS, EXTENDED = (
    next(source for source in BYTE_SOURCES if source.name == name) for name in ("counters", "counters_ext")
)
RATES = {"400 Gb/sec (4X NDR)\n": 50e9, "200 Gb/sec (2X NDR)\n": 25e9, "0 GB/sec\n": None}
STATES = {"4: ACTIVE\n": True, "1: DOWN\n": False, "?\n": None}


class Moment(NamedTuple):
    """What the files hold, and how long after the moment before."""

    seconds: float
    tx: int | str
    rx: int | str
    state: str
    rate: str


START = 2**32 - 5 * 10**8 * 5
STEP = 5 * 10**8
# What a link of 400 Gb/s carries in a second, in words.
FULL = 12_500_000_000


def traffic(second: int) -> Moment:
    """What the files hold where nothing but traffic happens: registers come near to 2**32 after five seconds."""
    return Moment(1.0, START + second * STEP, 7 + second, "4: ACTIVE\n", "400 Gb/sec (4X NDR)\n")


def assert_as_measured(history: Sequence[Moment], source: ByteSource, min_window_seconds: float) -> None:
    """Play a history to a sampler and to the arithmetic alone."""
    clock = ManualClock()
    with tempfile.TemporaryDirectory() as folder:
        tree = NicTree(Path(folder))
        with PortSampler([PORT], root=tree.root, clock=clock, min_window_seconds=min_window_seconds) as sampler:
            before: PortSample | None = None
            for moment in history:
                texts = {source.tx_files[0]: moment.tx, source.rx_files[0]: moment.rx}
                tree.port(PORT.device, {**texts, "state": moment.state, "rate": moment.rate})
                clock.advance(moment.seconds)
                tx, rx = ((each,) if isinstance(each, int) else None for each in (moment.tx, moment.rx))
                counters = None if tx is None and rx is None else CounterSet(source, tx, rx)
                now = PortSample(clock.seconds, counters, RATES[moment.rate], STATES[moment.state])
                expected = measure(before, now, min_window_seconds=min_window_seconds)
                assert sampler.sample()[PORT] == expected
                before = next_baseline(before, now, expected)


CHANGES = (
    {"state": "1: DOWN\n"},
    {"state": "?\n"},
    {"rate": "200 Gb/sec (2X NDR)\n"},
    {"rate": "0 GB/sec\n"},
    {"tx": 2**32 - 1},
    {"rx": 2**32 - 1},
    {"tx": 2**64 - 1},
    {"rx": 2**64 - 1},
    {"tx": "N/A (no PMA)\n"},
    {"rx": "N/A (no PMA)\n"},
    {"tx": "N/A (no PMA)\n", "rx": "N/A (no PMA)\n"},
    {"rx": FULL * 11 // 10},
    {"rx": FULL * 13 // 10},
    {"tx": 5},
    {"tx": 5, "rx": 0},
    {"seconds": 0.0},
    {"seconds": 0.0005},
    {"seconds": -1.0},
    {"seconds": 30.0},
)


@pytest.mark.parametrize("change", CHANGES, ids=str)
@pytest.mark.parametrize("source", [WORDS, EXTENDED], ids=lambda source: source.name)
def test_whatever_comes_after_traffic_is_judged_as_the_arithmetic_judges_it(
    change: dict[str, Any], source: ByteSource
) -> None:
    history = [traffic(0), traffic(1), traffic(2), traffic(3)._replace(**change), traffic(4), traffic(5), traffic(6)]
    assert_as_measured(history, source, 0.0)


@given(
    changes=st.lists(st.one_of(st.just({}), st.sampled_from(CHANGES)), min_size=4, max_size=9),
    source=st.sampled_from([WORDS, EXTENDED]),
    min_window_seconds=st.sampled_from([0.0, 0.1]),
)
@settings(max_examples=40)
def test_every_history_is_judged_as_the_arithmetic_judges_it(
    changes: Sequence[dict[str, Any]], source: ByteSource, min_window_seconds: float
) -> None:
    history = [traffic(second)._replace(**change) for second, change in enumerate(changes)]
    assert_as_measured(history, source, min_window_seconds)


def moving(tree: NicTree, clock: ManualClock, sampler: PortSampler, samples: int) -> None:
    """Let a port carry traffic for some samples, every one but the first of which is measured."""
    for index in range(samples):
        tree.write(PORT.device, {"counters/port_xmit_data": 100 * index, "counters/port_rcv_data": 7})
        clock.advance(1)
        got = sampler.sample()[PORT]
        assert (got.reason is UnknownReason.FIRST_SAMPLE) if index == 0 else got.tx_bytes_per_second == 400.0


def test_d05_a_counter_that_begins_to_answer_einval_is_read_once_more_and_then_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree, clock, refused = NicTree(tmp_path), ManualClock(), list[str]()
    tree.port(PORT.device)
    real_pread = os.pread

    def pread(fd: int, size: int, offset: int) -> bytes:
        path = str(Path(f"/proc/self/fd/{fd}").readlink())
        if path.endswith("port_rcv_data"):
            refused.append(path)
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        return real_pread(fd, size, offset)

    with PortSampler([PORT], root=tree.root, clock=clock) as sampler:
        moving(tree, clock, sampler, 4)
        monkeypatch.setattr(os, "pread", pread)
        for _ in range(3):
            clock.advance(1)
            got = sampler.sample()[PORT]
            assert (got.value, got.missing) == (0.0, "rx")
        assert len(refused) == 1


def test_enabling_finds_better_counters_that_came_meanwhile(tmp_path: Path) -> None:
    tree, clock = NicTree(tmp_path), ManualClock()
    tree.port(PORT.device)
    with PortSampler([PORT], root=tree.root, clock=clock) as sampler:
        moving(tree, clock, sampler, 4)
        tree.write(PORT.device, {"counters_ext/port_xmit_data_64": 9, "counters_ext/port_rcv_data_64": 9})
        clock.advance(1)
        assert sampler.sample()[PORT].source == "counters"
        sampler.enable()
        clock.advance(1)
        got = sampler.sample()[PORT]
        assert (got.source, got.reason) == ("counters_ext", UnknownReason.SOURCE_CHANGED)


def test_a_closed_sampler_has_nothing_to_compare_with(tmp_path: Path) -> None:
    tree, clock = NicTree(tmp_path), ManualClock()
    tree.port(PORT.device)
    sampler = PortSampler([PORT], root=tree.root, clock=clock)
    moving(tree, clock, sampler, 4)
    sampler.close()
    clock.advance(1)
    assert sampler.sample()[PORT].reason is UnknownReason.FIRST_SAMPLE
    sampler.close()
