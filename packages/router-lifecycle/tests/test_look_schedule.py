"""Looks fall on the moments at which a router lists new workers, so that few find an activation soon."""

from collections.abc import Callable
from random import Random
from statistics import median

import pytest
from lifecycle_bench import SPEC, URL, Bench

from router_lifecycle import RegistrationFailed
from router_lifecycle._schedule import seconds_to_look
from router_lifecycle.dialects import DialectName
from router_lifecycle.testing import FakeEngine, Health, RouterOptions


def looks_until(age: float, dialect: DialectName, spread: Callable[[], float] = lambda: 1.0) -> list[float]:
    """Return the ages of the looks up to the first that isn't before an age."""
    found = [0.0]
    while found[-1] < age:
        wait = seconds_to_look(found[-1], dialect, spread())
        assert wait > 0.02
        found.append(found[-1] + wait)
    return found[1:]


@pytest.mark.parametrize(
    ("dialect", "moments"),
    [
        ("uuid", [0.06, 0.12, 1.09, 3.1, 6.11, 10.13, 15.18, 20.23, 25.28]),
        ("url", [0.06, 0.12, 1.09, 3.1, 6.11, 10.13, 15.18, 20.23, 25.28]),
        ("smg", [0.2, 30.25, 60.25]),
    ],
)
def test_looks_fall_on_the_moments_at_which_the_router_lists_new_workers(
    dialect: DialectName, moments: list[float]
) -> None:
    looks = looks_until(moments[-1], dialect)
    assert [min(looks, key=lambda look: abs(look - moment)) for moment in moments] == pytest.approx(moments, abs=1e-6)


def test_at_any_moment_the_looks_within_2_s_find_half_of_the_activations_hardly_later_than_so_many_can() -> None:
    looks = looks_until(2.0, "uuid")
    late = [next(look for look in looks if look >= moment) - moment for moment in (n / 1000 for n in range(2001))]
    assert len(looks) == 10
    assert 1.0 / len(looks) <= median(late) <= 1.15 / len(looks)


@pytest.mark.parametrize(("active_at", "looks"), [(2.0, 11), (10.0, 20), (60.0, 33)])
def test_beyond_2_s_the_median_delay_is_a_tenth_of_the_time_and_the_looks_stay_few(
    active_at: float, looks: int
) -> None:
    random = Random(0)
    shares, counts = [], []
    for _ in range(500):
        moment = active_at * random.uniform(0.8, 1.2)
        found = looks_until(moment, "uuid", lambda: random.uniform(0.8, 1.2))
        shares.append((found[-1] - moment) / moment)
        counts.append(len(found))
    assert median(shares) <= 0.1
    assert median(counts) <= looks


@pytest.mark.parametrize(
    ("healthy_after", "active_at", "late", "requests"),
    [(0.0, 0.06, 0.07, 6), (0.5, 1.06, 0.07, 12), (2.0, 3.06, 0.07, 19), (58.0, 60.06, 0.7, 40)],
)
async def test_a_registration_ends_soon_after_the_activation_with_few_requests(
    healthy_after: float, active_at: float, late: float, requests: int
) -> None:
    engine = FakeEngine(URL, health=Health.LOADING if healthy_after else Health.HEALTHY)
    bench = Bench("0.3.2", engine)
    engine.becomes(Health.HEALTHY, healthy_after)
    async with bench.client() as client:
        await bench.run(client.register(SPEC))
    (active,) = [event.at_seconds for event in bench.router.events if event.kind == "healthy"]
    assert active == pytest.approx(active_at, abs=0.02)
    assert bench.clock() - active <= late
    assert len(bench.router.requests) <= requests


async def test_a_failure_is_found_though_the_record_is_asked_for_less_often() -> None:
    bench = Bench("0.3.2", FakeEngine(URL, health=Health.DOWN), options=RouterOptions(startup_timeout_seconds=20.0))
    async with bench.client() as client:
        with pytest.raises(RegistrationFailed, match="health"):
            await bench.run(client.register(SPEC))
    assert bench.clock() <= 60.0
