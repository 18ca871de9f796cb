"""Looks come fast at first and ever slower, never past the deadline, and as late as the router asks."""

import random
from itertools import pairwise

import pytest

from router_lifecycle._polling import Deadline, Looked, Poller
from router_lifecycle.testing import ManualClock


async def looks(
    clock: ManualClock, seconds: float, *, retry_after: float | None = None, ready_at: float = 1e9
) -> list[float]:
    times: list[float] = []

    async def look() -> Looked[str | None]:
        times.append(clock())
        return Looked("there" if clock() >= ready_at else None, retry_after)

    poller = Poller(clock, clock.sleep, random.Random(1))
    found = await clock.run(poller.until(look, Deadline(clock(), clock() + seconds)))
    assert (found is None) == (clock() < ready_at)
    return times


async def test_waits_grow_to_five_seconds_with_jitter() -> None:
    times = await looks(ManualClock(), 240.0)
    waits = [later - earlier for earlier, later in pairwise(times)]
    assert 0.04 <= waits[0] <= 0.06
    assert waits[:8] == sorted(waits[:8])
    assert max(waits) <= 6.0
    assert len(set(waits[15:-1])) == len(waits[15:-1])
    assert 45 <= len(times) <= 75


@pytest.mark.parametrize("seconds", [0.2, 3.0, 60.0])
async def test_the_last_look_comes_shortly_before_the_deadline(seconds: float) -> None:
    times = await looks(ManualClock(), seconds)
    assert seconds - min(0.5, 0.1 * seconds) == pytest.approx(times[-1])


async def test_a_value_ends_it_at_once() -> None:
    assert (await looks(ManualClock(), 60.0, ready_at=0.0)) == [0.0]


async def test_the_router_may_ask_for_longer_waits_but_not_past_the_deadline() -> None:
    assert await looks(ManualClock(), 60.0, retry_after=25.0) == [0.0, 25.0, 50.0, 59.5]
