"""Engines die and come back while requests and answers are lost; what the router really listed is judged afterwards."""

import itertools
import random
from collections.abc import Set as AbstractSet

import pytest
from lifecycle_bench import Bench

from router_lifecycle import WorkerSpec
from router_lifecycle.publication import (
    EngineGeneration,
    EngineLifecycle,
    EngineState,
    GatedFleet,
    MemoryPublishedVersions,
    PublicationGate,
    UnresolvedRemovals,
)
from router_lifecycle.testing import (
    FakeEngine,
    FakeRouter,
    Fault,
    Health,
    ManualClock,
    lose_answer,
    lose_request,
    reset,
)

FAULTS: tuple[tuple[Fault, str], ...] = (
    (lose_answer(), "POST"),
    (lose_request(), "POST"),
    (lose_answer(), "DELETE"),
    (lose_request(), "DELETE"),
    (reset(), "POST"),
    (reset(), "GET"),
    (Fault(status=503), "POST"),
    (Fault(status=429), "DELETE"),
)


class Fleet:
    """Four engines, each start on an address of its own, and what is true of each address."""

    def __init__(self, version: str) -> None:
        self.bench = Bench(version)
        self.router: FakeRouter = self.bench.router
        self.clock: ManualClock = self.bench.clock
        self.hosts = itertools.count(30_001)
        self.fakes: dict[str, FakeEngine] = {}
        self.url_of: dict[str, str] = {}
        self.generation_at: dict[str, str] = {}
        self.synchronised_since: dict[str, float] = {}
        unresolved = UnresolvedRemovals()
        engines = [
            EngineLifecycle(f"e{place}", "actor", self, self.bench.client(), unresolved, sleep=self.clock.sleep)
            for place in range(4)
        ]
        self.fleet = GatedFleet(
            PublicationGate(["actor"]),
            engines,
            MemoryPublishedVersions(),
            registration_timeout_seconds=30.0,
            clock=self.clock,
            sleep=self.clock.sleep,
        )
        self.version = 0

    async def start(self, generation: EngineGeneration, *, avoid_urls: AbstractSet[str]) -> WorkerSpec:
        url = f"http://10.0.0.1:{next(self.hosts)}"
        assert url not in avoid_urls
        self.fakes[generation.generation_id] = FakeEngine(url)
        self.router.add_engine(self.fakes[generation.generation_id])
        self.url_of[generation.generation_id] = url
        self.generation_at[url] = generation.generation_id
        return WorkerSpec(url=url)

    async def stop(self, generation: EngineGeneration, *, force: bool) -> None:
        assert not force
        self.fakes[generation.generation_id].becomes(Health.DOWN, self.clock())

    async def is_alive(self, generation: EngineGeneration) -> bool:
        return self.fakes[generation.generation_id].health_at(self.clock()) is not Health.DOWN

    async def update(self, *, fails: bool = False) -> None:
        snapshot = self.fleet.gate.snapshot("actor")
        if fails:
            return
        self.version += 1
        for generation in snapshot.generations:
            self.synchronised_since.setdefault(generation.generation_id, self.clock())
        await self.bench.run(self.fleet.publish(snapshot, self.version))

    async def recover_those_in_quarantine(self) -> None:
        for entry in self.fleet.gate.engines:
            if entry.state is EngineState.QUARANTINED:
                await self.bench.run(self.fleet.recover(entry.generation.engine_id))

    def too_early(self, since: float) -> list[str]:
        """Return what the router listed before its weights were synchronised."""
        return [
            f"{event.url} at {event.at_seconds:.2f} s"
            for event in self.router.events
            if event.kind == "listed"
            and event.at_seconds > since
            and event.at_seconds < self.synchronised_since.get(self.generation_at[event.url], float("inf"))
        ]


async def recover_many(version: str, recoveries: int, seed: int) -> None:
    rng = random.Random(seed)
    bench = Fleet(version)
    for engine_id in bench.fleet.engines:
        await bench.bench.run(bench.fleet.start(engine_id))
    began = bench.clock()
    await bench.update()
    for _ in range(recoveries):
        engine = bench.fleet.engines[f"e{rng.randrange(4)}"]
        if engine.generation is not None:
            bench.fakes[engine.generation.generation_id].becomes(Health.DOWN, bench.clock())
        if rng.random() < 0.6:
            fault, method = rng.choice(FAULTS)
            bench.router.faults.add(fault, method=method)
        if rng.random() < 0.1:
            bench.router.restart()
        await bench.bench.run(bench.fleet.recover(engine.engine_id))
        await bench.bench.pass_time(rng.choice((0.0, 1.0, 20.0)))
        await bench.update(fails=rng.random() < 0.3)
        await bench.recover_those_in_quarantine()
    bench.router.faults.clear()
    for _ in range(3):
        await bench.update()
        await bench.recover_those_in_quarantine()
    assert bench.too_early(began) == []
    # And it isn't quiet because nobody is routable any more.
    counts = bench.fleet.gate.as_dict()
    assert counts["publication/actor/routable"] == 4, bench.fleet.gate.table()
    routable = {url for url in bench.bench.routable if bench.generation_at[url] in bench.fakes}
    assert len(routable) >= 1


@pytest.mark.parametrize("version", ["0.2.4", "0.3.2", "smg-1.13.0"])
async def test_no_engine_is_ever_listed_before_its_weights_are_synchronised(version: str) -> None:
    await recover_many(version, 20, seed=1)


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("version", ["0.2.0", "0.2.2", "0.2.4", "0.3.0", "0.3.2", "smg-1.13.0"])
async def test_no_engine_is_listed_too_early_in_many_recoveries(version: str) -> None:
    await recover_many(version, 200, seed=2)
