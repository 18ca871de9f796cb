"""Faults seen in load-aware routers elsewhere, each as its smallest input."""

from collections import Counter
from dataclasses import replace
from random import Random
from typing import TypeAlias

import pytest

from loadmonitor_router import DropReason, Freshness, NoWorkerError, WorkerState
from loadmonitor_router.picking import (
    Candidate,
    Choice,
    InFlight,
    LeastLoaded,
    Picker,
    PowerOfTwoChoices,
    WeightedRandom,
    WorkerRank,
)
from loadmonitor_router.picking.testing import make_rank, make_snapshot, make_worker
from loadmonitor_router.snapshot import FleetSnapshot
from loadmonitor_router.testing import ManualClock

A, B, C, D = (f"http://10.0.0.{n}:30000" for n in range(1, 5))
Policy: TypeAlias = LeastLoaded | PowerOfTwoChoices | WeightedRandom
every_policy = pytest.mark.parametrize("policy", [LeastLoaded, PowerOfTwoChoices, WeightedRandom])


def picked(picker: Picker, snapshot: FleetSnapshot, candidates: list[Candidate], times: int) -> Counter[Candidate]:
    choices = [picker.pick(snapshot, candidates) for _ in range(times)]
    return Counter(
        choice.url if choice.dp_rank is None else WorkerRank(choice.url, choice.dp_rank) for choice in choices
    )


def now_ms(clock: ManualClock) -> float:
    return clock.monotonic_ns() / 1e6


def test_b18_a_snapshot_sampled_before_three_picks_does_not_forget_them(clock: ManualClock) -> None:
    picker = LeastLoaded(rng=Random(1), in_flight=InFlight(monotonic_ns=clock.monotonic_ns))
    idle_a_busy_b = [make_worker(A), make_worker(B, make_rank(num_running_reqs=2))]
    before = make_snapshot(*idle_a_busy_b, taken_ms=now_ms(clock))
    assert picked(picker, before, [A], 3) == {A: 3}
    clock.move(100)
    # Built anew, read anew, yet the numbers in it are 150 ms old: from before the picks.
    sampled_before = make_snapshot(
        make_worker(A, age_ms=150), make_worker(B, make_rank(num_running_reqs=2), age_ms=150), taken_ms=now_ms(clock)
    )
    choice = picker.pick(sampled_before, [A, B])
    assert (choice.url, choice.score) == (B, 0.01)
    assert picker.in_flight.newer_than(A, None) == 3


def test_b18_a_sample_newer_than_the_picks_replaces_them(clock: ManualClock) -> None:
    picker = LeastLoaded(rng=Random(1), in_flight=InFlight(monotonic_ns=clock.monotonic_ns))
    picked(picker, make_snapshot(make_worker(A), taken_ms=now_ms(clock)), [A], 3)
    clock.move(100)
    sampled_since = make_snapshot(make_worker(A, make_rank(num_running_reqs=3)), taken_ms=now_ms(clock))
    assert picker.pick(sampled_since, [A]).score == pytest.approx(0.015)  # three requests, not six


def test_b08_reading_the_same_sample_again_keeps_the_picks_however_often(clock: ManualClock) -> None:
    picker = LeastLoaded(rng=Random(1), in_flight=InFlight(monotonic_ns=clock.monotonic_ns))
    picked(picker, make_snapshot(make_worker(A), taken_ms=now_ms(clock)), [A], 3)
    for age_ms in (1_000, 2_000, 3_000):
        clock.move(1_000)
        again = make_snapshot(make_worker(A, age_ms=age_ms), make_worker(B), taken_ms=now_ms(clock))
        assert picker.pick(again, [A, B]).url == B
        assert picker.in_flight.newer_than(A, None) == 3


@every_policy
def test_b20_ties_are_even_over_400_picks_of_4_equals(policy: type[Policy]) -> None:
    picker = policy(rng=Random(20))
    fleet = make_snapshot(*[make_worker(url) for url in (A, B, C, D)])
    counts: Counter[str] = Counter()
    for _ in range(400):
        choice = picker.pick(fleet, [A, B, C, D])
        picker.in_flight.finished(choice.ticket)  # so that nothing but the tie-break evens it out
        counts[choice.url] += 1
    assert all(75 <= counts[url] <= 125 for url in (A, B, C, D)), counts


def test_b20_with_picks_in_flight_400_over_4_equals_are_100_each() -> None:
    fleet = make_snapshot(*[make_worker(url) for url in (A, B, C, D)], taken_ms=0)
    picker = LeastLoaded(rng=Random(20), in_flight=InFlight(monotonic_ns=lambda: 0))
    assert picked(picker, fleet, [A, B, C, D], 400) == {A: 100, B: 100, C: 100, D: 100}


@every_policy
def test_b21_before_the_first_report_16_picks_over_8_ranks_are_2_each(policy: type[Policy]) -> None:
    ranks: list[Candidate] = [WorkerRank(A, rank) for rank in range(8)]
    never_reported = make_snapshot(make_worker(A, freshness=Freshness.MISSING, received=0))
    for fleet in (make_snapshot(), never_reported):
        assert picked(policy(rng=Random(21)), fleet, ranks, 16) == dict.fromkeys(ranks, 2)


@pytest.mark.parametrize(("reported", "given"), [(3, None), (None, 3), (7, 3)])
def test_b22_own_picks_count_once_for_each_of_three_routers(reported: int | None, given: int | None) -> None:
    picker = LeastLoaded(routers=given, in_flight=InFlight(monotonic_ns=lambda: 0))
    fleet = make_snapshot(make_worker(A, active_routers=reported))
    picked(picker, fleet, [A], 2)
    assert picker.pick(fleet, [A]).score == pytest.approx(2 * 3 / 100 / 2)


def test_b22_a_worker_that_counts_no_routers_has_one() -> None:
    for active_routers in (None, 0, 1):
        picker = LeastLoaded(in_flight=InFlight(monotonic_ns=lambda: 0))
        fleet = make_snapshot(make_worker(A, active_routers=active_routers))
        picked(picker, fleet, [A], 2)
        assert picker.pick(fleet, [A]).score == pytest.approx(2 / 100 / 2)


def test_b22_three_routers_count_for_a_worker_that_has_not_reported_too() -> None:
    picker = LeastLoaded(routers=3, unknown_score=0.0, in_flight=InFlight(monotonic_ns=lambda: 0))
    fleet = make_snapshot(make_worker(A), make_worker(B, make_rank(num_running_reqs=3)))
    picker.in_flight.started(C)
    assert [picker.pick(fleet, [B, C]).url for _ in range(2)].count(C) == 1  # both stand at 3 requests


def test_b23_a_worker_that_says_zero_for_60_s_holds_at_least_the_40_requests_it_was_sent(clock: ManualClock) -> None:
    picker = LeastLoaded(in_flight=InFlight(tracks_completion=True, monotonic_ns=clock.monotonic_ns))
    tickets = [picker.in_flight.started(A) for _ in range(40)]
    clock.move(60_000)
    fleet = make_snapshot(make_worker(A), make_worker(B, make_rank(num_running_reqs=30)), taken_ms=now_ms(clock))
    choice = picker.pick(fleet, [A, B])
    assert (choice.url, choice.score) == (B, 0.15)
    for ticket in tickets:
        picker.in_flight.finished(ticket)
    choice = picker.pick(fleet, [A, B])
    assert (choice.url, choice.score) == (A, 0.0)


def test_b23_stats_that_are_never_updated_are_unknown_and_own_picks_decide(clock: ManualClock) -> None:
    """The zeros themselves age: after 60 s they are stale, and nobody mistakes them for balance."""
    picker = LeastLoaded(in_flight=InFlight(tracks_completion=True, monotonic_ns=clock.monotonic_ns))
    for _ in range(40):
        picker.in_flight.started(A)
    clock.move(60_000)
    zeros = [make_worker(url, freshness=Freshness.STALE, age_ms=60_000) for url in (A, B)]
    choices = [picker.pick(make_snapshot(*zeros, taken_ms=now_ms(clock)), [A, B]) for _ in range(40)]
    assert {choice.url for choice in choices} == {B}
    assert all(choice.fail_open and choice.score is None for choice in choices)


def test_b24_a_worker_whose_reports_are_all_invalid_is_unknown_and_not_idle() -> None:
    """A negative load is dropped at the door; what is left is a Worker that never said anything valid."""
    negative = make_worker(A, freshness=Freshness.MISSING, received=5)
    connection = replace(negative.connection, dropped={DropReason.NEGATIVE: 5})
    fleet = make_snapshot(
        replace(negative, connection=connection),
        make_worker(B, make_rank(num_running_reqs=20)),
        make_worker(C, make_rank(num_running_reqs=80)),
    )
    picker = LeastLoaded()
    two = [picker.pick(fleet, [A, C]) for _ in range(2)]
    assert {(choice.url, choice.score) for choice in two} == {(A, 0.4), (C, 0.4)}  # as loaded as the one that is known
    assert LeastLoaded().pick(fleet, [A, B, C]).url == B  # 0.1 beats the mean of 0.1 and 0.4


def test_b25_all_ranks_of_a_worker_count_not_the_first_or_the_last() -> None:
    three, nine = make_rank(0, num_waiting_reqs=3), make_rank(1, num_waiting_reqs=9)
    nine_first = make_rank(0, num_waiting_reqs=9), make_rank(1, num_waiting_reqs=3)
    six = make_worker(B, make_rank(0, num_waiting_reqs=6), make_rank(1, num_waiting_reqs=6))
    for ranks in ((three, nine), nine_first):
        choice = LeastLoaded().pick(make_snapshot(make_worker(A, *ranks), six), [A, B])
        assert (choice.url, choice.score) == (B, 0.03)


@every_policy
def test_b26_a_worker_that_was_idle_a_minute_ago_never_beats_a_fresh_busy_one(policy: type[Policy]) -> None:
    fleet = make_snapshot(
        make_worker(A, freshness=Freshness.STALE, age_ms=60_000),
        make_worker(B, make_rank(num_running_reqs=4), age_ms=1_000),
        make_worker(C, make_rank(num_running_reqs=100, num_waiting_reqs=900, token_usage=1.0)),
    )
    picker = policy(rng=Random(26))
    assert A not in picked(picker, fleet, [A, B, C], 200)
    assert picked(picker, fleet, [A, C], 50) == {C: 50}


@every_policy
def test_b27_a_single_worker_goes_on_serving_when_its_numbers_are_stale(policy: type[Policy]) -> None:
    stale = make_snapshot(make_worker(A, freshness=Freshness.STALE, age_ms=4_100))
    choice = policy().pick(stale, [A])
    assert (choice.url, choice.fail_open) == (A, True)
    assert choice.reason == "fail open: none of 1 is fresh, so the fewest own picks in flight (0)"


@every_policy
def test_b27_when_all_are_stale_refusing_is_a_named_policy_that_says_why_of_each(policy: type[Policy]) -> None:
    fleet = make_snapshot(
        make_worker(A, freshness=Freshness.STALE, age_ms=4_100),
        make_worker(B, freshness=Freshness.UNREACHABLE),
        make_worker(C, worker_state=WorkerState.DRAINING),
    )
    with pytest.raises(NoWorkerError) as caught:
        policy(when_none_fresh="refuse").pick(fleet, [A, B, C, D])
    assert caught.value.excluded == {
        A: "stale: made stale",
        B: "unreachable: made unreachable",
        C: "its engine is DRAINING",
        D: "not in the snapshot",
    }


@every_policy
def test_b27_a_mixed_pool_prefers_the_fresh_and_a_stale_pool_is_shared_evenly(policy: type[Policy]) -> None:
    stale = [make_worker(url, freshness=Freshness.STALE, age_ms=9_000) for url in (A, B, C)]
    candidates: list[Candidate] = [A, B, C, D]
    assert picked(policy(), make_snapshot(*stale, make_worker(D)), candidates, 20) == {D: 20}
    assert picked(policy(), make_snapshot(*stale), candidates[:3], 21) == {A: 7, B: 7, C: 7}


def test_b30_eleven_queued_on_one_of_four_ranks_are_not_hidden_by_the_mean() -> None:
    hot_rank = [make_rank(rank, num_waiting_reqs=queued) for rank, queued in enumerate([0, 0, 11, 0])]
    even = [make_rank(rank, num_waiting_reqs=5) for rank in range(4)]
    fleet = make_snapshot(make_worker(A, *hot_rank), make_worker(B, *even))
    choice = LeastLoaded().pick(fleet, [A, B])
    assert (choice.url, choice.score) == (B, 0.025)  # though B's mean is higher
    ranks = picked(LeastLoaded(rng=Random(30)), fleet, [WorkerRank(A, rank) for rank in range(4)], 30)
    assert ranks == {WorkerRank(A, 0): 10, WorkerRank(A, 1): 10, WorkerRank(A, 3): 10}


def test_b33_a_new_worker_without_a_sample_is_picked_and_takes_an_ordinary_share() -> None:
    known = [make_worker(url, make_rank(num_running_reqs=40)) for url in (A, B, C)]
    never_reported = make_worker(D, freshness=Freshness.MISSING, received=0)
    for fleet in (make_snapshot(*known), make_snapshot(*known, never_reported)):
        picker = LeastLoaded(rng=Random(33), in_flight=InFlight(monotonic_ns=lambda: 0))
        assert picked(picker, fleet, [A, B, C, D], 40) == {A: 10, B: 10, C: 10, D: 10}


def test_b34_nothing_running_and_2826_queued_is_a_loaded_worker() -> None:
    fleet = make_snapshot(
        make_worker(A, make_rank(num_running_reqs=0, num_waiting_reqs=2826)),
        make_worker(B, make_rank(num_running_reqs=100, token_usage=1.0)),
    )
    choice = LeastLoaded().pick(fleet, [A, B])
    assert (choice.url, choice.score) == (B, 1.0)
    assert LeastLoaded().pick(fleet, [A]).score == pytest.approx(14.13)


def test_a_url_that_comes_back_is_not_driven_below_zero_by_requests_of_its_former_life() -> None:
    in_flight = InFlight(tracks_completion=True, monotonic_ns=lambda: 0)
    old = in_flight.started(A)
    in_flight.forget(A)
    new = in_flight.started(A)
    in_flight.finished(old)
    assert (in_flight.newer_than(A, None), in_flight.unfinished(A)) == (1, 1)
    for _ in range(2):
        in_flight.finished(new)
        assert (in_flight.newer_than(A, None), in_flight.unfinished(A)) == (0, 0)


def test_reasons_are_for_people() -> None:
    fleet = make_snapshot(
        make_worker(A, make_rank(num_running_reqs=40)), make_worker(B, make_rank(num_running_reqs=84))
    )

    def reason(choice: Choice) -> str:
        assert not choice.fail_open
        return choice.reason

    assert reason(LeastLoaded().pick(fleet, [A, B])) == "score 0.20, lowest of 2"
    assert reason(PowerOfTwoChoices().pick(fleet, [A, B])) == "score 0.20, the lower of two drawn from 2"
    assert reason(WeightedRandom().pick(fleet, [B])) == "score 0.42, drawn by weight from 1"
    unknown = LeastLoaded(unknown_score=0.1).pick(fleet, [A, C])
    assert reason(unknown) == "score 0.10, lowest of 2; has not reported, so its load is assumed"
