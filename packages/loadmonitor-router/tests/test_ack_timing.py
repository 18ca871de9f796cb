"""When acknowledgements go out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadmonitor_router._acks import AckTiming

MS = 1_000_000
SERVING, DRAINING = 2, 3


@pytest.mark.parametrize(
    ("interval_ms", "wait_ms"),
    [
        (None, 0),
        (10, 0),
        (99, 0),
        (100, 50),
        (200, 150),
        (1_000, 900),
        (2_000, 1_800),
        (10_000, 9_750),
        (60_000, 59_750),
    ],
)
def test_the_lead_is_a_tenth_of_the_interval_within_bounds(interval_ms: int | None, wait_ms: int) -> None:
    timing = AckTiming(interval_ms)
    timing.received(7 * MS, SERVING)
    assert timing.due_ns == (7 + wait_ms) * MS


def test_a_report_that_was_skipped_makes_acknowledgements_prompt_from_there_on() -> None:
    timing = AckTiming(1_000)
    timing.received(0, SERVING)
    timing.received(1_500 * MS, SERVING)
    assert timing.due_ns == 2_400 * MS
    timing.received(3_001 * MS, SERVING)
    assert timing.due_ns == 3_001 * MS
    timing.received(4_000 * MS, SERVING)
    assert timing.due_ns == 4_000 * MS


def test_a_report_that_tells_another_state_is_acknowledged_at_once_and_the_next_one_is_not() -> None:
    timing = AckTiming(1_000)
    timing.received(0, SERVING)
    assert timing.due_ns == 900 * MS
    timing.received(1_300 * MS, DRAINING)
    assert timing.due_ns == 1_300 * MS
    timing.received(2_000 * MS, DRAINING)
    assert timing.due_ns == 2_900 * MS


@given(st.integers(1, 10**7), st.integers(0, 10**15))
def test_an_acknowledgement_is_never_held_back_until_the_next_report_is_due(interval_ms: int, now_ns: int) -> None:
    timing = AckTiming(interval_ms)
    timing.received(now_ns, SERVING)
    assert now_ns <= timing.due_ns < now_ns + interval_ms * MS
