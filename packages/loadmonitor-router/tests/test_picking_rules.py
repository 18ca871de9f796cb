"""Who may be picked, how load becomes a score, and how policies draw."""

import subprocess
import sys
from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadmonitor_router import ConfigError, Freshness, NoWorkerError, WorkerState
from loadmonitor_router.picking import (
    InFlight,
    LeastLoaded,
    Load,
    PowerOfTwoChoices,
    WeightedRandom,
    WorkerRank,
    rank_load,
    worker_load,
)
from loadmonitor_router.picking.testing import make_rank, make_snapshot, make_worker
from loadmonitor_router.snapshot import FleetSnapshot, WorkerLoad
from loadmonitor_router.testing import ManualClock

A, B, C = (f"http://10.0.0.{n}:30000" for n in range(1, 4))
CLOSED = [WorkerState.LOADING, WorkerState.DRAINING, WorkerState.PAUSED]
Policy: TypeAlias = LeastLoaded | PowerOfTwoChoices | WeightedRandom
POLICIES: list[type[Policy]] = [LeastLoaded, PowerOfTwoChoices, WeightedRandom]
every_policy = pytest.mark.parametrize("policy", POLICIES)

freshness = st.sampled_from(Freshness)
workers = st.builds(
    lambda number, running, waiting, usage, **kwargs: make_worker(
        f"http://w{number}:1",
        make_rank(num_running_reqs=running, num_waiting_reqs=waiting, token_usage=usage),
        **kwargs,
    ),
    st.integers(0, 9),
    st.integers(0, 100),
    st.integers(0, 3_000),
    st.none() | st.floats(0, 1),
    freshness=freshness,
    age_ms=st.floats(0, 60_000),
    worker_state=st.none() | st.sampled_from(WorkerState),
    active_routers=st.none() | st.integers(0, 8),
    received=st.integers(0, 1),
)
fleets = st.lists(workers, max_size=10).map(lambda listed: make_snapshot(*listed))


def may_be_picked(fleet: FleetSnapshot, urls: list[str]) -> set[str]:
    """State the rules a second time, plainly."""

    def standing(worker: WorkerLoad | None) -> str:
        if worker is None:
            return "unknown"
        if worker.worker_state in CLOSED:
            return "closed"
        if worker.freshness is Freshness.MISSING:
            return "lost" if worker.connection.received else "unknown"
        return worker.freshness.value

    by_standing = {url: standing(fleet.workers.get(url)) for url in urls}
    allowed = {"fresh", "unknown"} if "fresh" in by_standing.values() else {"unknown", "lost", "stale"}
    return {url for url in urls if by_standing[url] in allowed} or {
        url for url in urls if by_standing[url] == "unreachable"
    }


@given(
    fleets,
    st.lists(st.integers(0, 9).map("http://w{}:1".format), max_size=10),
    st.sampled_from(POLICIES),
    st.integers(),
)
def test_only_who_may_be_picked_is_picked_and_nobody_to_pick_is_an_error(
    fleet: FleetSnapshot, urls: list[str], policy: type[Policy], seed: int
) -> None:
    allowed = may_be_picked(fleet, urls)
    picker = policy(rng=Random(seed))
    if not allowed:
        with pytest.raises(NoWorkerError) as caught:
            picker.pick(fleet, urls)
        assert caught.value.excluded.keys() == set(urls)
    for _ in range(5 if allowed else 0):
        choice = picker.pick(fleet, iter(urls))
        assert choice.url in allowed
        assert choice.fail_open == all(fleet.fresh_load(url) is None for url in allowed)
        assert (choice.score is None) == choice.fail_open


class Recorded(Random):
    """Notes what is drawn from, and with what weights: the distribution of a pick, exactly."""

    def __init__(self) -> None:
        super().__init__(0)
        self.drawn_from: set[Any] = set()

    def choice(self, seq: Any) -> Any:
        self.drawn_from = set(seq)
        return super().choice(seq)

    def sample(self, population: Any, k: int, **kwargs: Any) -> Any:
        self.drawn_from = {*population, k}
        return super().sample(population, k, **kwargs)

    def choices(self, population: Any, weights: Any = None, **kwargs: Any) -> Any:
        self.drawn_from = set(zip(population, weights, strict=True))
        return super().choices(population, weights, **kwargs)


@given(fleets, st.permutations([f"http://w{number}:1" for number in range(10)]), st.sampled_from(POLICIES))
def test_the_order_of_the_candidates_does_not_change_the_distribution_of_a_pick(
    fleet: FleetSnapshot, shuffled: list[str], policy: type[Policy]
) -> None:
    def distribution(urls: list[str]) -> set[Any]:
        recorded = Recorded()
        policy(rng=recorded, unknown_score=0.5).pick(fleet, [*urls, "http://never-heard-of:1"])
        return recorded.drawn_from

    assert distribution(shuffled) == distribution(sorted(shuffled))


@every_policy
@pytest.mark.parametrize("order", [[A, B, C], [C, A, B], [B, C, A, A, A]])
def test_shares_do_not_depend_on_the_order_or_the_repetition_of_candidates(
    policy: type[Policy], order: list[str]
) -> None:
    loads = {A: 0, B: 0, C: 50}
    fleet = make_snapshot(*[make_worker(url, make_rank(num_running_reqs=load)) for url, load in loads.items()])
    shares = draw(policy(rng=Random(3)), fleet, order, 3_000)
    expected = {
        LeastLoaded: {A: 0.5, B: 0.5, C: 0.0},
        PowerOfTwoChoices: {A: 0.5, B: 0.5, C: 0.0},
        WeightedRandom: {A: 0.4, B: 0.4, C: 0.2},  # 1, 1 and 1 / (1 + 4 · 0.25)
    }[policy]
    assert shares == pytest.approx(expected, abs=0.03)


def draw(picker: Policy, fleet: FleetSnapshot, candidates: list[str], times: int) -> dict[str, float]:
    """Return the shares of picks that don't see one another."""
    counts: Counter[str] = Counter()
    for _ in range(times):
        choice = picker.pick(fleet, candidates)
        picker.in_flight.finished(choice.ticket)
        counts[choice.url] += 1
    return {url: counts[url] / times for url in fleet.workers}


@settings(max_examples=20)
@given(st.lists(st.tuples(st.integers(0, 300), st.integers(1, 512)), min_size=2, max_size=6), st.integers(0, 1_000))
def test_weighted_shares_are_in_proportion_to_slots_and_fall_with_the_score(
    loads: list[tuple[int, int]], seed: int
) -> None:
    fleet = make_snapshot(
        *[
            make_worker(f"w{number}", make_rank(num_waiting_reqs=requests, max_running_requests=slots))
            for number, (requests, slots) in enumerate(loads)
        ]
    )
    weights = {f"w{n}": slots / (1 + 4 * requests / slots / 2) for n, (requests, slots) in enumerate(loads)}
    expected = {url: weight / sum(weights.values()) for url, weight in weights.items()}
    shares = draw(WeightedRandom(rng=Random(seed)), fleet, list(expected), 1_000)
    # Five standard deviations of the widest share, 0.5.
    assert shares == pytest.approx(expected, abs=0.08)


def test_power_of_two_prefers_the_lower_of_the_two_and_never_takes_the_worst_of_three() -> None:
    fleet = make_snapshot(*[make_worker(url, make_rank(num_running_reqs=n)) for n, url in enumerate((A, B, C))])
    shares = draw(PowerOfTwoChoices(rng=Random(2)), fleet, [A, B, C], 3_000)
    assert shares == pytest.approx({A: 2 / 3, B: 1 / 3, C: 0}, abs=0.03)


@every_policy
def test_the_same_seed_makes_the_same_picks(policy: type[Policy]) -> None:
    fleet = make_snapshot(*[make_worker(url, make_rank(num_running_reqs=n)) for n, url in enumerate((A, B, C))])
    runs = []
    for _ in range(2):
        picker = policy(rng=Random(5), in_flight=InFlight(monotonic_ns=lambda: 0))
        runs.append([picker.pick(fleet, [A, B, C]).url for _ in range(50)])
    assert runs[0] == runs[1]
    assert len(set(runs[0])) > 1


@every_policy
@pytest.mark.parametrize("state", CLOSED)
@pytest.mark.parametrize("kind", [Freshness.FRESH, Freshness.STALE, Freshness.UNREACHABLE])
def test_an_engine_that_loads_drains_or_pauses_is_never_picked_even_alone(
    policy: type[Policy], state: WorkerState, kind: Freshness
) -> None:
    closed = make_worker(A, worker_state=state, freshness=kind)
    full = make_worker(B, make_rank(num_running_reqs=100, num_waiting_reqs=500, token_usage=1.0))
    picker = policy()
    assert {picker.pick(make_snapshot(closed, full), [A, B]).url for _ in range(20)} == {B}
    with pytest.raises(NoWorkerError, match=rf"no worker to pick: {A} \(its engine is {state.name}\)"):
        picker.pick(make_snapshot(closed), [A])


@every_policy
@pytest.mark.parametrize("state", [None, WorkerState.SERVING])
def test_an_engine_that_serves_or_does_not_say_is_picked(policy: type[Policy], state: WorkerState | None) -> None:
    assert policy().pick(make_snapshot(make_worker(A, worker_state=state)), [A]).url == A


@every_policy
def test_a_worker_that_drained_and_left_is_not_picked_even_alone(policy: type[Policy]) -> None:
    left = replace(make_worker(A, freshness=Freshness.MISSING, received=9), left_draining=True)
    with pytest.raises(NoWorkerError, match=rf"no worker to pick: {A} \(it left, DRAINING\)"):
        policy().pick(make_snapshot(left), [A])
    lost = make_worker(B, freshness=Freshness.MISSING, received=9)
    assert {policy().pick(make_snapshot(left, lost), [A, B]).url for _ in range(20)} == {B}


def test_an_unreachable_engine_is_taken_only_when_nothing_else_exists() -> None:
    unreachable = make_worker(A, freshness=Freshness.UNREACHABLE)
    for other in (
        make_worker(B, freshness=Freshness.STALE),
        make_worker(B, freshness=Freshness.MISSING, received=0),
        make_worker(B, freshness=Freshness.MISSING, received=9),
    ):
        picker = LeastLoaded()
        assert {picker.pick(make_snapshot(unreachable, other), [A, B]).url for _ in range(20)} == {B}
    choice = LeastLoaded().pick(make_snapshot(unreachable), [A])
    assert (choice.url, choice.fail_open) == (A, True)


def test_a_worker_whose_connection_was_lost_does_not_count_as_new() -> None:
    fleet = make_snapshot(
        make_worker(A, freshness=Freshness.MISSING, received=7), make_worker(B, make_rank(num_waiting_reqs=900))
    )
    picker = LeastLoaded(unknown_score=0.0)
    assert {picker.pick(fleet, [A, B]).url for _ in range(20)} == {B}


@pytest.mark.parametrize(("unknown_score", "winner", "score"), [(None, B, 0.1), (0.05, A, 0.05), (0.3, B, 0.1)])
def test_unknown_load_is_the_mean_of_the_known_or_what_the_caller_says(
    unknown_score: float | None, winner: str, score: float
) -> None:
    fleet = make_snapshot(
        make_worker(B, make_rank(num_running_reqs=20)), make_worker(C, make_rank(num_running_reqs=60))
    )
    choice = LeastLoaded(unknown_score=unknown_score).pick(fleet, [A, B, C])
    assert choice.url == winner
    assert choice.score == pytest.approx(score)


def test_the_mean_prior_beats_a_full_worker_and_loses_to_an_idle_one() -> None:
    idle, full = make_worker(B), make_worker(C, make_rank(num_running_reqs=100, token_usage=1.0))
    for _ in range(20):
        assert LeastLoaded().pick(make_snapshot(idle, full), [A, B, C]).url == B
        picker = LeastLoaded(in_flight=InFlight(monotonic_ns=lambda: 0))
        for _ in range(110):  # fill the idle one beyond the mean of the samples, 0.5
            picker.in_flight.started(B)
        assert picker.pick(make_snapshot(idle, full), [A, B, C]).url == A


def test_a_fresh_worker_that_publishes_no_request_slots_is_unknown_and_not_idle() -> None:
    without = make_worker(A, make_rank(max_running_requests=None))
    fleet = make_snapshot(without, make_worker(B, make_rank(num_running_reqs=20)), make_worker(C))
    assert LeastLoaded().pick(fleet, [A, B, C]).url == C
    with pytest.raises(NoWorkerError, match="fresh, but how many requests may run at once isn't published"):
        LeastLoaded(when_none_fresh="refuse").pick(make_snapshot(without), [A])
    assert LeastLoaded().pick(make_snapshot(without), [A]).fail_open


def test_a_rank_that_its_worker_does_not_report_is_no_candidate() -> None:
    fleet = make_snapshot(make_worker(A, make_rank(4), make_rank(5), make_rank(7)))
    for ghost in (0, 6, 8):
        choice = LeastLoaded().pick(fleet, [WorkerRank(A, ghost), WorkerRank(A, 5)])
        assert (choice.url, choice.dp_rank) == (A, 5)
    with pytest.raises(NoWorkerError) as caught:
        LeastLoaded().pick(fleet, [WorkerRank(A, 6)])
    assert caught.value.excluded == {f"{A}@6": "its Worker has the ranks 4, 5, 7"}


def test_the_idlest_rank_of_all_workers_is_picked() -> None:
    fleet = make_snapshot(
        make_worker(A, make_rank(0, num_running_reqs=5), make_rank(1, num_running_reqs=3)),
        make_worker(B, make_rank(0, num_running_reqs=2), make_rank(1, num_running_reqs=90)),
    )
    choice = LeastLoaded().pick(fleet, [WorkerRank(url, rank) for url in (A, B) for rank in (0, 1)])
    assert (choice.url, choice.dp_rank, choice.score) == (B, 0, 0.01)


def test_no_candidates_is_an_error_that_says_so() -> None:
    with pytest.raises(NoWorkerError, match="there were no candidates") as caught:
        LeastLoaded().pick(make_snapshot(make_worker(A)), [])
    assert caught.value.excluded == {}


def test_the_message_of_a_large_fleet_stays_readable() -> None:
    urls = [f"w{number:04}" for number in range(1_000)]
    fleet = make_snapshot(*[make_worker(url, worker_state=WorkerState.PAUSED) for url in urls])
    with pytest.raises(NoWorkerError, match=r"w0007 .*; and 992 more, all in \.excluded$") as caught:
        LeastLoaded().pick(fleet, urls)
    assert list(caught.value.excluded) == urls


def test_the_score_of_a_rank_is_half_requests_and_half_memory() -> None:
    rank = make_rank(num_running_reqs=30, num_waiting_reqs=20, token_usage=0.9, max_running_requests=200)
    assert rank_load(rank) == pytest.approx(Load(score=(0.25 + 0.9) / 2, requests=50, slots=200))
    assert rank_load(replace(rank, max_running_requests=None)) is None


def test_the_score_of_a_worker_is_that_of_its_most_loaded_rank_and_requests_spread_over_all() -> None:
    report = make_worker(A, make_rank(0, num_running_reqs=40), make_rank(1, token_usage=0.6)).report
    assert report is not None
    load = worker_load(report)
    assert load == pytest.approx(Load(score=0.3, requests=40, slots=200))
    assert load is not None
    assert load.score_with(20) == pytest.approx(0.35)
    assert worker_load(replace(report, ranks=())) is None


def test_a_request_still_on_its_way_when_the_sample_was_taken_keeps_counting(clock: ManualClock) -> None:
    in_flight = InFlight(dispatch_ms=20, monotonic_ns=clock.monotonic_ns)
    started_ns = in_flight.started(A).started_ns
    clock.move(1_000)
    assert in_flight.newer_than(A, started_ns + 20_000_000) == 1
    assert in_flight.newer_than(A, started_ns + 20_000_001) == 0


def test_a_pick_counts_ten_seconds_at_a_worker_that_sends_no_sample_and_unfinished_ones_for_good(
    clock: ManualClock,
) -> None:
    in_flight = InFlight(tracks_completion=True, monotonic_ns=clock.monotonic_ns)
    in_flight.started(A)
    clock.move(10_000)
    assert in_flight.newer_than(A, None) == 1
    clock.move(1)
    assert (in_flight.newer_than(A, None), in_flight.unfinished(A)) == (0, 1)


def test_memory_is_bounded_for_a_url_that_is_sent_to_and_never_asked_about(clock: ManualClock) -> None:
    in_flight = InFlight(monotonic_ns=clock.monotonic_ns)
    for _ in range(1_000):
        in_flight.started(A)
        clock.move(100)
    assert len(in_flight._books[A].recent) == 101


def test_one_in_flight_serves_several_pickers() -> None:
    in_flight = InFlight(monotonic_ns=lambda: 0)
    fleet = make_snapshot(make_worker(A), make_worker(B))
    first, second = (LeastLoaded(in_flight=in_flight, rng=Random(n)) for n in range(2))
    for _ in range(10):
        assert {first.pick(fleet, [A, B]).url, second.pick(fleet, [A, B]).url} == {A, B}


def test_settings_out_of_range_say_what_is_allowed() -> None:
    with pytest.raises(ConfigError, match=r"unknown_score is -1; allowed are finite numbers from 0"):
        LeastLoaded(unknown_score=-1)
    with pytest.raises(ConfigError, match=r"unknown_score is nan; allowed"):
        LeastLoaded(unknown_score=float("nan"))
    with pytest.raises(ConfigError, match=r"routers is 0; allowed are counts from 1"):
        LeastLoaded(routers=0)
    with pytest.raises(ConfigError, match=r"when_none_fresh is 'fail-open'; allowed are 'fail_open' and 'refuse'"):
        LeastLoaded(when_none_fresh="fail-open")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"dispatch_ms is -1; allowed are finite milliseconds from 0"):
        InFlight(dispatch_ms=-1)
    with pytest.raises(ConfigError, match=r"forget_after_seconds is 0; allowed are finite seconds above 0"):
        InFlight(forget_after_seconds=0)


@pytest.mark.parametrize("routers", [1, 4])
def test_between_two_samples_the_queues_stay_level_and_pile_up_on_one_worker_when_picks_are_forgotten(
    routers: int,
) -> None:
    """80 requests on 8 Workers, of which one is idler by a single request: level means 10 or 11 each."""
    urls = [f"w{number}" for number in range(8)]
    fleet = make_snapshot(
        *[make_worker(url, make_rank(num_running_reqs=int(url != "w0")), active_routers=routers) for url in urls]
    )

    def queues(*, remembers: bool) -> Counter[str]:
        pickers = [LeastLoaded(rng=Random(n), in_flight=InFlight(monotonic_ns=lambda: 0)) for n in range(routers)]
        counts = Counter(urls[1:])
        for number in range(80):
            picker = pickers[number % routers]
            choice = picker.pick(fleet, urls)
            if not remembers:
                picker.in_flight.finished(choice.ticket)
            counts[choice.url] += 1
        return counts

    assert queues(remembers=False)["w0"] == 80
    level = queues(remembers=True)
    assert max(level.values()) <= 11 + (routers - 1)  # the others' picks are an estimate
    assert level.total() == 87


def test_picking_needs_neither_an_event_loop_nor_grpc() -> None:
    code = (
        "import sys, loadmonitor_router.picking, loadmonitor_router.picking.testing;"
        "print({'asyncio', 'grpc', 'google.protobuf', 'httpx'} & set(sys.modules))"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30)
    assert output.stdout == "set()\n"
