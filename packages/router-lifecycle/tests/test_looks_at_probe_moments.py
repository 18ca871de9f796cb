"""Looks fall on the moments at which a router lists new workers, so that few find an activation soon."""

import pytest
from lifecycle_bench import SPEC, URL, Bench

from router_lifecycle import RegistrationFailed
from router_lifecycle._probe_moments import seconds_to_next
from router_lifecycle.dialects import DialectName
from router_lifecycle.testing import FakeEngine, Health, RouterOptions


@pytest.mark.parametrize(
    ("dialect", "moments"),
    [
        ("uuid", [1.08, 1.16, 3.08, 3.16, 6.1, 10.2, 15.25, 20.3, 25.35]),
        ("url", [1.08, 1.16, 3.08, 3.16, 6.1, 10.2, 15.25, 20.3, 25.35]),
        ("smg", [0.25, 30.25, 60.25]),
    ],
)
def test_each_moment_follows_a_probe_of_the_router(dialect: DialectName, moments: list[float]) -> None:
    age, found = 0.0, []
    for _ in moments:
        step = seconds_to_next(age, dialect)
        assert step > 0.02
        age += step
        found.append(age)
    assert found == pytest.approx(moments, abs=1e-9)


@pytest.mark.parametrize(
    ("healthy_after", "active_at", "late", "requests"),
    [(0.0, 0.06, 0.1, 15), (0.5, 1.06, 0.06, 15), (2.0, 3.06, 0.06, 24), (58.0, 60.06, 0.7, 40)],
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
