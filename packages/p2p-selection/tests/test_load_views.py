"""What a puller knows better of a source's load than its last heartbeat."""

import math

import pytest

from p2p_selection import (
    AdjustedLoads,
    Candidate,
    Decay,
    InFlight,
    LoadAware,
    SettingError,
    Steady,
    Target,
)

TARGET = Target("m", "t", 0)
DECISIVE = LoadAware(weight=1e6)


def source(worker: str, load: float | None = None, updated_at_ms: int | None = None) -> Candidate:
    return Candidate("s", worker, 0, load, updated_at_ms=updated_at_ms)


def test_a_load_counts_in_full_until_the_next_heartbeat_is_due_and_fades_to_unknown_after() -> None:
    now = 100_000
    decay = Decay(lambda: now, fresh_ms=30_000, half_life_ms=10_000)
    assert decay(source("w", 0.0, 70_000)) == 0.0
    assert decay(source("w", 0.0, 60_000)) == pytest.approx(0.25)
    assert decay(source("w", 1.0, 60_000)) == pytest.approx(0.75)
    assert decay(source("w", 0.0, 1)) == pytest.approx(0.496, abs=0.001)
    assert decay(source("w", 0.3, 100_500)) == 0.3
    assert decay(source("w", 0.3)) == 0.3
    assert decay(source("w", None, 1)) is None
    assert decay(source("w", math.nan, 1)) is None


def test_a_source_idle_two_minutes_ago_ranks_after_one_that_is_nearly_idle_now() -> None:
    listed = [source("old", 0.0, 0), source("new", 0.1, 119_000)]
    assert DECISIVE.order(listed, TARGET) == listed
    assert AdjustedLoads(DECISIVE, Decay(lambda: 120_000)).order(listed, TARGET) == listed[::-1]


def test_small_changes_of_load_do_not_change_the_order_and_large_ones_do() -> None:
    selector = AdjustedLoads(DECISIVE, Steady(band=0.05))
    assert [c.worker_id for c in selector.order([source("a", 0.50), source("b", 0.51)], TARGET)] == ["a", "b"]
    assert [c.worker_id for c in selector.order([source("a", 0.53), source("b", 0.47)], TARGET)] == ["a", "b"]
    assert [c.worker_id for c in selector.order([source("a", 0.56), source("b", 0.47)], TARGET)] == ["b", "a"]


def test_unknown_is_never_hidden_by_what_was_known() -> None:
    steady = Steady()
    assert steady(source("a", 0.5)) == 0.5
    assert steady(source("a", None)) is None
    assert steady(source("a", 0.52)) == 0.52


def test_a_bounded_memory_forgets() -> None:
    steady = Steady(size=2)
    assert [steady(source(worker, 0.5)) for worker in "abc"] == [0.5, 0.5, 0.5]
    assert steady(source("a", 0.52)) == 0.52


def test_own_pulls_count_until_they_end() -> None:
    in_flight = InFlight(load_per_pull=0.25)
    a, unknown = source("a", 0.1), source("u")
    with in_flight.pulling(a), in_flight.pulling(a), in_flight.pulling(unknown):
        assert in_flight(a) == pytest.approx(0.6)
        assert in_flight(unknown) == 0.75
        assert in_flight(source("b", 0.1)) == 0.1
        with in_flight.pulling(a), in_flight.pulling(a):
            assert in_flight(a) == 1.0
    with pytest.raises(RuntimeError), in_flight.pulling(a):
        raise RuntimeError("the transfer failed")
    assert in_flight(a) == 0.1
    assert in_flight(unknown) is None


def test_views_apply_in_order_and_the_listed_candidates_come_back() -> None:
    in_flight = InFlight(load_per_pull=0.5)
    selector = AdjustedLoads(DECISIVE, Decay(lambda: 0), in_flight)
    listed = [source("a", 0.1, 0), source("b", 0.2, 0), source("b", 0.2, 0)]
    assert selector.name == "load_aware"
    with in_flight.pulling(listed[0]):
        ranked = selector.order(listed, TARGET)
        assert [id(c) for c in ranked] == [id(listed[place]) for place in (1, 2, 0)]
        assert selector.top(listed, TARGET, 1) == [listed[1]]
    assert selector.order([], TARGET) == []


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Decay(lambda: 0, fresh_ms=-1), "fresh_ms=-1 is not allowed: 0 or more is"),
        (lambda: Decay(lambda: 0, half_life_ms=0), "half_life_ms=0 is not allowed: more than 0 is"),
        (lambda: Decay(lambda: 0, unknown_load=2), "unknown_load=2 is not allowed: 0.0, idle, to 1.0, full, is"),
        (lambda: Steady(band=math.nan), "band=nan is not allowed: 0 to 1 is"),
        (lambda: Steady(size=0), "size=0 is not allowed: 1 or more is"),
        (lambda: InFlight(load_per_pull=1.5), "load_per_pull=1.5 is not allowed: 0 to 1 is"),
        (lambda: InFlight(unknown_load=-1), "unknown_load=-1 is not allowed: 0.0, idle, to 1.0, full, is"),
    ],
)
def test_a_setting_out_of_range_is_refused(make: object, message: str) -> None:
    assert callable(make)
    with pytest.raises(SettingError) as caught:
        make()
    assert str(caught.value) == message
