"""The bound of the delivery delay is never below the delay, whatever the network, the reader and the clocks do."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadmonitor_router._delay import CreditedDelay, EstimatedDelay

MS = 1_000_000


def test_the_first_reports_are_bounded_by_the_register() -> None:
    delay = CreditedDelay(window=2, registered_ns=0)
    assert delay.bound_ms(5 * MS) == 5
    assert delay.bound_ms(9 * MS) == 9


def test_with_a_window_of_two_the_credit_of_a_report_is_the_acknowledgement_of_the_one_before_the_last() -> None:
    delay = CreditedDelay(window=2, registered_ns=0)
    delay.bound_ms(10 * MS)
    delay.credit(sent_ns=12 * MS, reports=1)  # of report 0
    delay.bound_ms(20 * MS)
    delay.credit(sent_ns=23 * MS, reports=1)  # of report 1
    assert delay.bound_ms(30 * MS) == 18
    assert delay.bound_ms(40 * MS) == 17


def test_an_acknowledgement_of_two_reports_frees_two() -> None:
    delay = CreditedDelay(window=2, registered_ns=0)
    delay.bound_ms(1 * MS)
    delay.bound_ms(2 * MS)
    delay.credit(sent_ns=3 * MS, reports=2)
    assert [delay.bound_ms(10 * MS), delay.bound_ms(11 * MS)] == [7, 8]


def test_a_worker_that_overdraws_its_credit_is_not_believed_again() -> None:
    delay = CreditedDelay(window=1, registered_ns=0)
    assert delay.bound_ms(1 * MS) == 1
    assert delay.bound_ms(2 * MS) is None
    delay.credit(sent_ns=3 * MS, reports=2)
    assert delay.bound_ms(4 * MS) is None


@given(
    window=st.integers(1, 4),
    steps=st.lists(st.tuples(*[st.integers(1, 5_000)] * 3, st.integers(0, 5_000), st.booleans()), max_size=30),
)
def test_no_report_of_a_worker_that_keeps_the_contract_is_older_than_its_bound(
    window: int, steps: list[tuple[int, int, int, int, bool]]
) -> None:
    """Times in ms. Each step: network there, network back, wait of the Worker, time the consumer takes, lumped ack."""
    built: list[int] = []
    received: list[int] = []
    acked: list[int] = []  # when our acknowledgement of report k was sent
    heard: list[int] = []  # when the Worker read it
    register_heard = 1
    for number, (there, back, wait, consumer, _) in enumerate(steps):
        credit = register_heard if number < window else heard[number - window]
        built.append(max(credit, built[-1] if built else 0) + wait)
        received.append(max(received[-1] if received else 0, built[-1] + there))
        acked.append(max(acked[-1] if acked else 0, received[-1] + consumer))
        heard.append(max(heard[-1] if heard else 0, acked[-1] + back))
    events = sorted(
        [(time, 0, number) for number, time in enumerate(received)]
        + [(time, 1, number) for number, time in enumerate(acked)]
    )
    delay = CreditedDelay(window, registered_ns=0)
    for time, kind, number in events:
        if kind:
            delay.credit(time * MS, 1)
        else:
            bound = delay.bound_ms(time * MS)
            assert bound is not None
            assert bound >= time - built[number]


def test_a_backlog_from_the_very_first_report_is_seen() -> None:
    """The reader stalls 10 s right after the register: even the smallest offset seen is that of an old report."""
    delay = EstimatedDelay(registered_ns=0)
    bounds = [delay.bound_ms(10_000 * MS, 5_000_000 + built) for built in (0, 1_000, 9_000, 10_000)]
    assert bounds == [10_000, 9_000, 1_000, 0]


def test_a_stall_in_mid_stream_is_seen() -> None:
    delay = EstimatedDelay(registered_ns=0)
    assert delay.bound_ms(2 * MS, 1_000_000) == 2
    assert delay.bound_ms(1_002 * MS, 1_001_000) == pytest.approx(1.5)
    assert delay.bound_ms(11_000 * MS, 1_002_000) == pytest.approx(8_994.5, abs=0.1)
    assert delay.bound_ms(11_001 * MS, 1_011_000) == pytest.approx(0, abs=0.1)


def test_a_router_clock_step_changes_nothing_because_receipts_are_monotonic() -> None:
    delay = EstimatedDelay(registered_ns=0)
    for second in range(10):
        bound = delay.bound_ms((1_000 * second + 2) * MS, 1_750_000_000_000 + 1_000 * second)
        assert bound is not None
        assert bound <= 2


@pytest.mark.parametrize("step_ms", [-3_600_000, -1_500, 150, 3_600_000])
def test_after_a_step_of_the_workers_clock_the_delay_is_unknown_until_the_next_stream(step_ms: int) -> None:
    delay = EstimatedDelay(registered_ns=0)
    assert delay.bound_ms(2 * MS, 1_750_000_000_000) == 2
    assert delay.bound_ms(1_002 * MS, 1_750_000_001_000 + step_ms) is None
    assert delay.stepped
    assert delay.bound_ms(2_002 * MS, 1_750_000_002_000 + step_ms) is None


def test_a_report_without_a_time_has_no_bound_and_spoils_nothing() -> None:
    delay = EstimatedDelay(registered_ns=0)
    assert delay.bound_ms(2 * MS, None) is None
    assert delay.bound_ms(3 * MS, 1_000) == 3
    assert delay.bound_ms(4 * MS, None) is None
    assert not delay.stepped


def test_clocks_that_drift_apart_for_a_week_do_not_make_reports_look_old_or_stepped() -> None:
    for drift_ppm in (-100, 100):
        delay = EstimatedDelay(registered_ns=0)
        for minute in range(7 * 24 * 60):
            elapsed_ms = minute * 60_000
            worker_ms = 1_000_000 + elapsed_ms + elapsed_ms * drift_ppm // 1_000_000
            bound = delay.bound_ms((elapsed_ms + 2) * MS, worker_ms)
            assert bound is not None
            assert bound <= 10


@given(
    offset_ms=st.integers(-(10**12), 10**12),
    reports=st.lists(st.tuples(st.integers(1, 2_000), st.integers(0, 20_000)), min_size=1, max_size=40),
)
def test_the_estimate_misses_no_more_than_the_allowance_for_drift(
    offset_ms: int, reports: list[tuple[int, int]]
) -> None:
    delay = EstimatedDelay(registered_ns=0)
    built = received = 0
    for spacing, under_way in reports:
        built += spacing
        received = max(received, built + under_way)
        bound = delay.bound_ms(received * MS, 10**13 + offset_ms + built)
        assert bound is not None
        assert bound >= received - built - 0.0005 * received - 0.01
