"""When an engine counts as idle, look by look, without a clock."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadmonitor_worker._idle import QUIET_NS, IdleWatch
from loadmonitor_worker._verdict import FUTURE_TOLERANCE_MS, Attempt
from loadmonitor_worker.testing import rank

MS = 1_000_000
START_UNIX_MS = 1_800_000_000_000


def look(watch: IdleWatch, at_ms: int, *, busy: bool = False, taken_ms: int | None = None, untold: int = 0) -> bool:
    """Let the watch look at `at_ms`, at numbers taken at `taken_ms`."""
    now_unix_ms = START_UNIX_MS + at_ms
    stamp = now_unix_ms if taken_ms is None else START_UNIX_MS + taken_ms
    attempt = Attempt([rank(0, running=0, at=stamp), rank(1, running=int(busy), at=now_unix_ms)])
    names = [f"r{number}" for number in range(untold)]
    return watch.observe(attempt, names, now_ns=at_ms * MS, now_unix_ms=now_unix_ms)


def test_idle_takes_a_second_of_idle_looks() -> None:
    watch = IdleWatch()
    assert [look(watch, at_ms) for at_ms in (0, 500, 999, 1_000)] == [False, False, False, True]


def test_a_rank_at_work_is_work() -> None:
    watch = IdleWatch()
    assert not any(look(watch, at_ms, busy=True) for at_ms in range(0, 5_000, 200))
    assert watch.reason == "1 running, 0 waiting"


def test_one_router_that_does_not_know_yet_starts_it_all_anew() -> None:
    watch = IdleWatch()
    look(watch, 0)
    assert not look(watch, 2_000, untold=3)
    assert watch.reason == "router 'r0' and 2 more may not know the state yet"
    assert not look(watch, 2_200, taken_ms=2_100)
    assert watch.reason == "idle when last seen, which was before the routers were told"
    assert not look(watch, 2_400)
    assert look(watch, 3_400)


looks = st.lists(
    st.tuples(
        st.integers(1, 700),  # milliseconds since the last look
        st.booleans(),  # at work
        st.integers(0, 4_000),  # age of the numbers
        st.integers(0, 1),  # routers that don't know
    ),
    max_size=30,
)


@given(looks)
def test_it_is_idle_exactly_when_every_look_of_the_last_second_was_idle_told_and_new(
    script: list[tuple[int, bool, int, int]],
) -> None:
    watch = IdleWatch()
    now_ms = 0
    told_at_ms: int | None = None
    quiet_since_ms: int | None = None
    for step_ms, busy, age_ms, untold in script:
        now_ms += step_ms
        if untold:
            told_at_ms = None
        elif told_at_ms is None:
            told_at_ms = now_ms
        quiet = not busy and told_at_ms is not None and now_ms - age_ms >= told_at_ms
        quiet_since_ms = (now_ms if quiet_since_ms is None else quiet_since_ms) if quiet else None
        expected = quiet_since_ms is not None and (now_ms - quiet_since_ms) * MS >= QUIET_NS
        assert look(watch, now_ms, busy=busy, taken_ms=now_ms - age_ms, untold=untold) == expected


@pytest.mark.parametrize("error", ["gone", "the source did not answer within 1000 ms"])
def test_what_cannot_be_read_is_not_idle(error: str) -> None:
    watch = IdleWatch()
    attempt = Attempt(error=error)
    for at_ms in range(0, 5_000, 200):
        assert not watch.observe(attempt, [], now_ns=at_ms * MS, now_unix_ms=START_UNIX_MS + at_ms)
    assert watch.reason == f"the engine's load isn't known: {error}"


def test_an_engine_that_publishes_no_capacity_can_be_idle_as_well() -> None:
    watch = IdleWatch()
    seen = []
    for at_ms in (0, 500, 1_000):
        now_unix_ms = START_UNIX_MS + at_ms
        bare = replace(rank(0, running=0, at=now_unix_ms), max_running_requests=0, max_total_num_tokens=0)
        seen.append(watch.observe(Attempt([bare]), [], now_ns=at_ms * MS, now_unix_ms=now_unix_ms))
    assert seen == [False, False, True]


@pytest.mark.parametrize("ahead_ms", [None, FUTURE_TOLERANCE_MS + 1])
def test_numbers_without_a_usable_date_are_not_idle(ahead_ms: int | None) -> None:
    watch = IdleWatch()
    for at_ms in range(0, 5_000, 200):
        now_unix_ms = START_UNIX_MS + at_ms
        stamp = None if ahead_ms is None else now_unix_ms + ahead_ms
        attempt = Attempt([rank(0, running=0, at=stamp), rank(1, running=0, at=now_unix_ms)])
        assert not watch.observe(attempt, [], now_ns=at_ms * MS, now_unix_ms=now_unix_ms)
    assert watch.reason == "the engine's load isn't known: its numbers have no usable timestamp"
