"""The ranks of a Worker taken together, and the time that a queue takes to prefill."""

import math
import sys
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadmonitor_router import (
    PrefillRates,
    RankLoad,
    Receipt,
    WorkerReport,
    aggregate_ranks,
    decode_report,
    queue_pressure_seconds,
)
from loadmonitor_router.testing import wire_rank, wire_report


def report(*ranks: Mapping[str, float], instance: str = "a") -> WorkerReport:
    message = wire_report(1, ranks=[wire_rank(number, **fields) for number, fields in enumerate(ranks)])
    message.source_instance_id = instance
    return decode_report(message, Receipt(monotonic_ns=0, delay_ms=0))


def counters(tokens: int, busy_us: int) -> dict[str, float]:
    return {"prefill_uncached_tokens_total": tokens, "prefill_busy_us_total": busy_us}


def test_finite_values_stay_finite_together() -> None:
    most = sys.float_info.max
    row = aggregate_ranks(report(*[{"gen_throughput": most, "token_usage": most}] * 3).ranks, {})
    assert row is not None
    assert row.gen_throughput == most
    assert row.token_usage is not None
    assert row.max_token_usage == most
    assert row.token_usage <= most


def test_counts_add_up_and_one_stuck_rank_shows() -> None:
    ranks = report(*({"num_waiting_reqs": waiting, "num_running_reqs": 2} for waiting in (0, 0, 11, 0))).ranks
    row = aggregate_ranks(ranks, {})
    assert row is not None
    assert (row.num_running_reqs, row.num_waiting_reqs, row.max_waiting_reqs, row.waiting_spread) == (8, 11, 11, 11)
    assert (row.num_used_tokens, row.num_waiting_uncached_tokens) == (200_000, 16_384)
    assert (row.max_total_num_tokens, row.max_running_requests, row.gen_throughput) == (400_000, 1_024, 3_200.0)


def test_usage_is_weighted_by_capacity_and_the_fullest_rank_stands_beside_it() -> None:
    big = {"max_total_num_tokens": 300_000, "token_usage": 0.2}
    small = {"max_total_num_tokens": 100_000, "token_usage": 1.0}
    row = aggregate_ranks(report(big, small).ranks, {})
    assert row is not None
    assert row.token_usage == pytest.approx(0.4)
    assert row.max_token_usage == 1.0


def test_usage_is_the_engines_own_and_not_recomputed() -> None:
    row = aggregate_ranks(report({"num_used_tokens": 100, "max_total_num_tokens": 1_000, "token_usage": 0.9}).ranks, {})
    assert row is not None
    assert row.token_usage == pytest.approx(0.9)


def test_a_capacity_that_one_rank_does_not_tell_is_unknown_for_the_worker() -> None:
    row = aggregate_ranks(report({}, {"max_total_num_tokens": 0, "max_running_requests": 0}).ranks, {})
    assert row is not None
    assert (row.max_total_num_tokens, row.max_running_requests, row.token_usage) == (None, None, None)
    assert row.num_used_tokens == 100_000


def test_without_ranks_there_is_no_aggregate() -> None:
    assert aggregate_ranks((), {}) is None


@pytest.mark.parametrize(
    ("pressures", "expected"),
    [({0: 1.5, 1: 0.0}, 1.5), ({0: 0.0, 1: 0.0}, 0.0), ({0: 1.5, 1: None}, None), ({0: 1.0}, None)],
)
def test_the_pressure_of_a_worker_is_that_of_its_worst_rank_if_all_are_known(
    pressures: dict[int, float | None], expected: float | None
) -> None:
    row = aggregate_ranks(report({}, {}).ranks, pressures)
    assert row is not None
    assert row.queue_pressure_seconds == expected


@given(st.lists(st.tuples(st.integers(1, 10**9), st.floats(0, 1)), min_size=1, max_size=16))
def test_the_mean_usage_lies_between_the_ranks(ranks: list[tuple[int, float]]) -> None:
    base = report({}).ranks[0]
    loads: list[RankLoad] = [
        replace(base, dp_rank=number, max_total_num_tokens=capacity, token_usage=usage)
        for number, (capacity, usage) in enumerate(ranks)
    ]
    row = aggregate_ranks(loads, {})
    assert row is not None
    assert row.token_usage is not None
    usages = [usage for _, usage in ranks]
    assert min(usages) - 1e-9 <= row.token_usage <= max(usages) + 1e-9
    assert row.max_token_usage == max(usages)


def test_nothing_waiting_is_measured_even_when_the_rate_is_unknown() -> None:
    assert queue_pressure_seconds(0, None) == 0.0
    assert queue_pressure_seconds(0, 0.0) == 0.0


def test_something_waiting_takes_tokens_over_rate_seconds() -> None:
    assert queue_pressure_seconds(4_096, 2_048.0) == 2.0


@pytest.mark.parametrize("rate", [None, 0.0, 5e-324])
def test_something_waiting_at_no_usable_rate_is_unknown(rate: float | None) -> None:
    assert queue_pressure_seconds(4_096, rate) is None


def test_the_generation_rate_never_stands_in_for_the_prefill_rate() -> None:
    assert PrefillRates().observe(report({"gen_throughput": 800.0})) == {0: None}


def test_the_ranks_own_rate_goes_before_its_counters() -> None:
    rates = PrefillRates()
    rates.observe(report(counters(0, 0)))
    assert rates.observe(report({"prefill_throughput": 7.0, **counters(1_000, 1_000)})) == {0: 7.0}
    assert rates.observe(report({"prefill_throughput": 0.0, **counters(2_000, 2_000)})) == {0: 0.0}


def test_the_rate_is_the_growth_of_the_counters_rank_by_rank() -> None:
    rates = PrefillRates()
    assert rates.observe(report(counters(1_000, 5_000), counters(9_000, 5_000))) == {0: None, 1: None}
    grown = rates.observe(report(counters(3_000, 505_000), counters(9_500, 1_005_000)))
    assert grown == {0: 4_000.0, 1: 500.0}
    assert rates.observe(report(counters(3_100, 605_000), counters(9_600, 1_105_000))) == {0: 1_000.0, 1: 1_000.0}


@pytest.mark.parametrize("after", [counters(999, 9_000), counters(2_000, 4_000), counters(1_000, 5_000), {}])
def test_counters_that_do_not_grow_tell_no_rate(after: dict[str, float]) -> None:
    rates = PrefillRates()
    rates.observe(report(counters(1_000, 5_000)))
    assert rates.observe(report(after)) == {0: None}


def test_after_a_reset_the_rate_is_known_from_the_next_report_on() -> None:
    rates = PrefillRates()
    rates.observe(report(counters(10_000, 10_000)))
    assert rates.observe(report(counters(100, 1_000))) == {0: None}
    assert rates.observe(report(counters(300, 2_000))) == {0: 200_000.0}


def test_counters_of_two_source_instances_are_not_compared() -> None:
    rates = PrefillRates()
    rates.observe(report(counters(100, 1_000)))
    assert rates.observe(report(counters(300, 2_000), instance="b")) == {0: None}


def test_an_attempt_without_ranks_in_between_loses_no_rate() -> None:
    rates = PrefillRates()
    first = report(counters(100, 1_000))
    rates.observe(first)
    assert rates.observe(replace(first, ranks=())) == {}
    assert rates.observe(report(counters(300, 2_000))) == {0: 200_000.0}


def test_a_rank_that_was_away_starts_anew() -> None:
    rates = PrefillRates()
    rates.observe(report(counters(100, 1_000), counters(100, 1_000)))
    rates.observe(report(counters(200, 2_000)))
    assert rates.observe(report(counters(300, 3_000), counters(900, 9_000))) == {0: 100_000.0, 1: None}


@given(st.lists(st.tuples(st.integers(0, 10**12), st.integers(0, 10**12), st.integers(0, 10**9)), max_size=8))
def test_a_pressure_is_unknown_or_finite_and_not_negative(history: list[tuple[int, int, int]]) -> None:
    rates = PrefillRates()
    for tokens, busy_us, waiting in history:
        pressure = queue_pressure_seconds(waiting, rates.observe(report(counters(tokens, busy_us)))[0])
        assert pressure is None or (pressure >= 0 and math.isfinite(pressure))
