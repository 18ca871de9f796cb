"""The end of a removal deletes the record of the URL; what is registered there next must not lose its own to it."""

import pytest
from lifecycle_bench import OTHER, SPEC, URL, VERSIONS, Bench

from router_lifecycle.testing import FakeEngine, Health


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_late_worker_in_place_of_a_removed_one_is_waited_for(version: str) -> None:
    engine = FakeEngine(URL)
    bench = Bench(version, engine, FakeEngine(OTHER))
    client = bench.client()
    first = await bench.run(client.register(SPEC))
    await bench.run(client.remove(first))
    now = bench.clock()
    engine.becomes(Health.DOWN, at_seconds=now)
    engine.becomes(Health.HEALTHY, at_seconds=now + 12)
    worker = await bench.run(client.register(SPEC))
    assert worker.is_routable
    assert bench.posts == 2
