"""The arithmetic between two samples: when it gives a value, and when it must not."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nic_metrics import (
    BYTE_SOURCES,
    ByteSource,
    CounterSet,
    Direction,
    PortSample,
    UnknownReason,
    Utilization,
    measure,
    next_baseline,
)

SOURCES = {source.name: source for source in BYTE_SOURCES}
LINK = 50_000_000_000.0
WORDS_PER_SECOND = int(LINK) // 4


def one(value: int | None) -> tuple[int, ...] | None:
    return None if value is None else (value,)


def sample(
    seconds: float, tx: int | None, rx: int | None, *, source: str = "counters", link: float | None = LINK
) -> PortSample:
    return PortSample(seconds, CounterSet(SOURCES[source], one(tx), one(rx)), link)


def between(before: PortSample | None, now: PortSample) -> Utilization:
    return measure(before, now, min_window_seconds=0.1)


def test_the_busier_direction_counts_and_not_the_sum() -> None:
    got = between(sample(0, 0, 0), sample(2, WORDS_PER_SECOND, WORDS_PER_SECOND // 2))
    assert got == Utilization(0.5, None, LINK / 2, LINK / 4, LINK, "counters")
    turned = between(sample(0, 0, 0), sample(2, WORDS_PER_SECOND // 2, WORDS_PER_SECOND))
    assert turned.value == 0.5


def test_counters_that_stood_still_are_a_measured_zero() -> None:
    assert between(sample(0, 7, 7), sample(1, 7, 7)) == Utilization(0.0, None, 0.0, 0.0, LINK, "counters")


def test_the_first_sample_is_unknown() -> None:
    assert between(None, sample(0, 7, 7)).reason is UnknownReason.FIRST_SAMPLE


def test_a_clock_that_went_back_starts_afresh() -> None:
    assert between(sample(5, 7, 7), sample(4, 8, 8)).reason is UnknownReason.FIRST_SAMPLE


@pytest.mark.parametrize("seconds", [0.0, 1e-9, 0.005, 0.0999])
def test_d25_a_window_that_is_too_short_is_unknown_and_goes_on(seconds: float) -> None:
    before, now = sample(0, 0, 0), sample(seconds, 1000, 1000)
    got = between(before, now)
    assert (got.value, got.reason) == (None, UnknownReason.WINDOW_TOO_SHORT)
    assert next_baseline(before, now, got) is before


def test_d25_the_window_of_a_cached_source_is_ten_lifespans() -> None:
    before = sample(0, 0, 0, source="hw_counters/bytes")._replace(cache_seconds=0.012)
    early = sample(0.119, 10, 10, source="hw_counters/bytes")._replace(cache_seconds=0.012)
    assert between(before, early).reason is UnknownReason.WINDOW_TOO_SHORT
    assert between(before, early._replace(seconds=0.121)).value is not None


@pytest.mark.parametrize("source", ["counters", "counters_ext", "hw_counters/bytes"])
@pytest.mark.parametrize("end", [1000, 0])
def test_d26_a_reset_is_unknown_for_that_window_and_right_in_the_next(source: str, end: int) -> None:
    before, now = sample(0, 10**12, 5, source=source), sample(1, end, 6, source=source)
    got = between(before, now)
    assert (got.value, got.reason) == (None, UnknownReason.COUNTER_RESET)
    base = next_baseline(before, now, got)
    assert base is now
    assert between(base, sample(2, end + 10, 6, source=source)).value is not None


def test_a_register_of_32_bits_that_starts_over_at_a_plausible_rate_is_a_delta() -> None:
    got = between(sample(0, 0xFFFFFFF0, 0), sample(1, 0x10, 0))
    assert got.tx_bytes_per_second == 0x20 * 4
    assert got.value == 0x20 * 4 / LINK


@pytest.mark.parametrize(
    ("before", "now"),
    [
        (sample(0, 1000, 0), sample(30, 10, 0)),  # small numbers: 17 GB in half a minute would be plausible
        (sample(0, 2**32 - 100, 0), sample(0.1, 2**31 - 200, 0)),  # more than the link carries in that time
        (sample(0, 2**32 - 100, 2**32 - 90), sample(1, 5, 5)),  # both at once: cleared
        (sample(0, 2**32 - 100, 0, link=None), sample(1, 5, 0, link=None)),  # nothing to judge by
        (sample(0, 2**32 + 5, 0), sample(1, 5, 0)),  # a register of 64 bits
        (sample(0, 2**32 - 100, 0, source="counters_ext"), sample(1, 5, 0, source="counters_ext")),
        (sample(0, 2**64 - 2, 0, source="counters_ext"), sample(1, 5, 0, source="counters_ext")),
    ],
)
def test_whatever_else_went_back_is_a_reset(before: PortSample, now: PortSample) -> None:
    assert between(before, now).reason is UnknownReason.COUNTER_RESET


def test_d13_a_saturated_counter_is_unknown_until_it_counts_again() -> None:
    full = 2**32 - 1
    assert between(None, sample(0, full, 0)).reason is UnknownReason.COUNTER_SATURATED
    assert between(sample(0, full - 10, 0), sample(1, full, 0)).reason is UnknownReason.COUNTER_SATURATED
    assert between(sample(0, full, 0), sample(1, full, 0)).reason is UnknownReason.COUNTER_SATURATED
    assert between(sample(0, full, 0), sample(1, 5, 0)).reason is UnknownReason.COUNTER_SATURATED
    assert between(sample(1, 5, 0), sample(2, 15, 0)).value == 40 / LINK


def test_all_ones_of_32_bits_is_a_count_like_any_other_in_a_register_of_64() -> None:
    full = 2**32 - 1
    assert between(sample(0, full, 0, source="counters_ext"), sample(1, full, 0, source="counters_ext")).value == 0.0
    ones = 2**64 - 1
    got = between(sample(0, ones, 0, source="counters_ext"), sample(1, ones, 0, source="counters_ext"))
    assert got.reason is UnknownReason.COUNTER_SATURATED


def test_a_change_of_the_files_is_unknown_once() -> None:
    before, now = sample(0, 10**9, 0), sample(1, 10**10, 0, source="counters_ext")
    got = between(before, now)
    assert (got.reason, got.source) == (UnknownReason.SOURCE_CHANGED, "counters_ext")
    assert next_baseline(before, now, got) is now


def test_files_opened_anew_are_unknown_once() -> None:
    source = SOURCES["counters"]
    old = PortSample(0, CounterSet(source, (5,), (5,), 1), LINK)
    new = PortSample(1, CounterSet(source, (9,), (9,), 2), LINK)
    assert between(old, new).reason is UnknownReason.SOURCE_CHANGED


def test_without_a_capacity_the_bytes_are_known_and_the_utilisation_is_not() -> None:
    got = between(sample(0, 0, 0, link=None), sample(1, 250, 0, link=None))
    assert got == Utilization(None, UnknownReason.CAPACITY_UNKNOWN, 1000.0, 0.0, None, "counters")


def test_a_window_that_spans_a_renegotiation_has_bytes_and_no_utilisation() -> None:
    got = between(sample(0, 0, 0), sample(1, 250, 0, link=LINK / 2))
    assert (got.value, got.reason) == (None, UnknownReason.CAPACITY_CHANGED)
    assert got.tx_bytes_per_second == 1000.0
    came_up = between(sample(0, 0, 0, link=None), sample(1, 250, 0))
    assert came_up.reason is UnknownReason.CAPACITY_CHANGED


def test_a_little_above_the_link_is_full_and_well_above_it_is_implausible() -> None:
    assert between(sample(0, 0, 0), sample(1, WORDS_PER_SECOND * 11 // 10, 0)).value == 1.0
    got = between(sample(0, 0, 0), sample(1, WORDS_PER_SECOND * 13 // 10, 0))
    assert (got.value, got.reason) == (None, UnknownReason.CAPACITY_IMPLAUSIBLE)


@pytest.mark.parametrize(("tx", "rx", "missing"), [(None, 250, Direction.TX), (250, None, Direction.RX)])
def test_one_unreadable_direction_keeps_the_other_and_is_flagged(
    tx: int | None, rx: int | None, missing: Direction
) -> None:
    got = between(sample(0, tx and 0, rx and 0), sample(1, tx, rx))
    assert (got.value, got.missing) == (1000 / LINK, missing)
    assert (got.tx_bytes_per_second is None, got.rx_bytes_per_second is None) == (tx is None, rx is None)


def test_directions_that_were_read_in_turn_give_nothing() -> None:
    before, now = sample(0, 5, None), sample(1, None, 5)
    got = between(before, now)
    assert got.reason is UnknownReason.NO_BYTE_COUNTER
    assert next_baseline(before, now, got) is now


def test_a_sample_that_could_not_be_read_keeps_the_baseline() -> None:
    before, blind = sample(0, 0, 0), PortSample(1, None, LINK)
    got = between(before, blind)
    assert got.reason is UnknownReason.NO_BYTE_COUNTER
    assert next_baseline(before, blind, got) is before


@pytest.mark.parametrize(
    ("now", "reason"),
    [
        (sample(1, 5, 5)._replace(active=False), UnknownReason.PORT_NOT_ACTIVE),
        (sample(1, 5, 5)._replace(present=False), UnknownReason.PORT_MISSING),
    ],
)
def test_d17_a_dead_port_is_not_idle_and_starts_afresh(now: PortSample, reason: UnknownReason) -> None:
    before = sample(0, 5, 5)
    got = between(before, now)
    assert (got.value, got.reason) == (None, reason)
    assert next_baseline(before, now, got) is None


@pytest.mark.parametrize("link", [3_125_000_000.0, 25_000_000_000.0])
def test_d12_a_word_is_four_bytes_whatever_the_lanes(link: float) -> None:
    got = between(sample(0, 0, 0, link=link), sample(1, 312_500_000, 0, link=link))
    assert got.tx_bytes_per_second == 1.25e9


def test_every_reason_and_every_source_stands_in_the_readme() -> None:
    text = (Path(__file__).parents[1] / "README.md").read_text()
    assert [reason for reason in UnknownReason if f"| `{reason}` |" not in text] == []
    assert [source.name for source in BYTE_SOURCES if f"| `{source.name}` |" not in text] == []


def test_d28_what_a_physical_function_does_not_count_is_said() -> None:
    text = " ".join((Path(__file__).parents[1] / "README.md").read_text().split())
    assert "The counters of a physical function don't show what its virtual functions do" in text


# What a second moves, from nothing to more than the link can carry: most of what is drawn, or all would be resets.
SECONDS = st.sampled_from([WORDS_PER_SECOND * tenths // 10 for tenths in (0, 10, 11, 13)])
ODD_COUNTS = st.one_of(
    st.none(),
    st.integers(0, 2**64 - 1),
    st.integers(2**32 - 50, 2**32 + 50),
    st.sampled_from([1, 2**31, 2**32 - 1, 2**64 - 1]),
)
COUNTS = st.one_of(SECONDS, SECONDS, SECONDS, st.none(), ODD_COUNTS)
# Steps from nothing to a minute, backwards now and then.
STEPS = st.one_of(
    st.just(1.0), st.just(1.0), st.floats(0, 60), st.floats(-1, 1), st.sampled_from([0.0, 5e-324, 0.1, 30.0])
)
LINKS = st.sampled_from([LINK] * 8 + [None, 312_500_000.0])


@given(
    source=st.sampled_from([source for source in (*BYTE_SOURCES[:2] * 4, *BYTE_SOURCES) if len(source.tx_files) == 1]),
    steps=st.lists(
        st.tuples(STEPS, COUNTS, COUNTS, LINKS, st.sampled_from([None, True, True, True, True, False])),
        max_size=12,
    ),
)
def test_no_sequence_gives_a_value_outside_0_to_1_or_a_zero_that_was_not_measured(
    source: ByteSource, steps: list[tuple[float, int | None, int | None, float | None, bool | None]]
) -> None:
    seconds, before = 0.0, None
    for step, tx, rx, link, active in steps:
        seconds += step
        counters = None if tx is None and rx is None else CounterSet(source, one(tx), one(rx))
        now = PortSample(seconds, counters, link, active)
        got = measure(before, now, min_window_seconds=0.0)
        assert (got.value is None) != (got.reason is None)
        assert got.value is None or 0 <= got.value <= 1
        rates = [rate for rate in (got.tx_bytes_per_second, got.rx_bytes_per_second) if rate is not None]
        assert all(0 <= rate < float("inf") for rate in rates)
        if got.value is not None:
            assert before is not None
            assert before.counters is not None
            assert now.counters is not None
            moved = [
                (old, new)
                for old, new in ((before.counters.tx, now.counters.tx), (before.counters.rx, now.counters.rx))
                if old is not None and new is not None
            ]
            assert moved
            assert (got.value == 0) == all(old == new for old, new in moved)
            assert len(moved) == len(rates) == (2 if got.missing is None else 1)
        before = next_baseline(before, now, got)


@given(
    starts=st.tuples(st.integers(0, 2**31), st.integers(0, 2**31)),
    moves=st.lists(
        st.tuples(st.integers(0, WORDS_PER_SECOND), st.integers(0, WORDS_PER_SECOND)), min_size=1, max_size=20
    ),
)
def test_counters_that_only_grow_are_measured_exactly(starts: tuple[int, int], moves: list[tuple[int, int]]) -> None:
    tx, rx = starts
    before = sample(0, tx, rx, source="counters_ext")
    for second, (sent, received) in enumerate(moves, start=1):
        tx, rx = tx + sent, rx + received
        now = sample(second, tx, rx, source="counters_ext")
        got = between(before, now)
        assert got.value == pytest.approx(max(sent, received) / WORDS_PER_SECOND, rel=1e-12)
        before = now
