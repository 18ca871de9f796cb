"""Engines of several nodes in memory, behind a fake router, for the tests of publication."""

import asyncio
from collections.abc import Set as AbstractSet

from lifecycle_bench import Bench

from router_lifecycle import RouterLifecycleClient, WorkerSpec
from router_lifecycle.publication import (
    EngineGeneration,
    EngineLifecycle,
    EngineRecord,
    GatedFleet,
    MemoryPublishedVersions,
    PublicationGate,
    UnresolvedRemovals,
)
from router_lifecycle.testing import FakeEngine, RouterOptions


class Nodes:
    """A launcher: the nodes of one engine, as entries of a set. Nothing listens to `avoid_urls` when `is_obedient` is False."""

    def __init__(self, urls: list[str], *, nodes: int = 1) -> None:
        self.urls = urls
        self.node_count = nodes
        self.running: dict[str, set[int]] = {}
        self.calls: list[str] = []
        self.is_obedient = True
        self.starts_raise = False
        self.stops_raise = False
        self.stops_hang = False
        self.is_immortal = False
        self.starting = asyncio.Event()
        self.may_start = asyncio.Event()
        self.may_start.set()

    async def start(self, generation: EngineGeneration, *, avoid_urls: AbstractSet[str]) -> WorkerSpec:
        self.calls.append("start")
        self.running[generation.generation_id] = set(range(self.node_count))
        self.starting.set()
        await self.may_start.wait()
        if self.starts_raise:
            raise RuntimeError("node 1 didn't come up")
        return WorkerSpec(url=next(url for url in self.urls if not self.is_obedient or url not in avoid_urls))

    async def stop(self, generation: EngineGeneration, *, force: bool) -> None:
        self.calls.append("kill" if force else "stop")
        if self.stops_raise and not force:
            raise RuntimeError("the actor is gone")
        while self.stops_hang and not force:
            try:
                await asyncio.get_running_loop().create_future()
            except asyncio.CancelledError:
                return
        if not self.is_immortal:
            self.running.pop(generation.generation_id, None)

    async def is_alive(self, generation: EngineGeneration) -> bool:
        return generation.generation_id in self.running


class Fleet:
    """Engines e0, e1, ... with two URLs each, a gate and a fake router, on one manual clock."""

    def __init__(
        self,
        *,
        engines: int = 2,
        nodes: int = 1,
        version: str = "0.3.2",
        models: tuple[str, ...] = (),
        options: RouterOptions | None = None,
    ) -> None:
        self.urls = [[f"http://10.0.{place}.{n}:30000" for n in (1, 2)] for place in range(engines)]
        every = [FakeEngine(url) for urls in self.urls for url in urls]
        self.bench = Bench(version, *every, options=options)
        self.clock = self.bench.clock
        self.router = self.bench.router
        self.run = self.bench.run
        self.client: RouterLifecycleClient = self.bench.client()
        self.unresolved = UnresolvedRemovals()
        self.launchers = [Nodes(urls, nodes=nodes) for urls in self.urls]
        self.engines = [
            self.engine(place, (models or ("actor",) * engines)[place], self.unresolved) for place in range(engines)
        ]
        self.gate = PublicationGate(["actor", "critic"])
        self.versions = MemoryPublishedVersions()
        self.fleet = self.gated(self.gate, self.engines)

    def engine(
        self, place: int, model: str, unresolved: UnresolvedRemovals, record: EngineRecord | None = None
    ) -> EngineLifecycle:
        return EngineLifecycle(
            f"e{place}",
            model,
            self.launchers[place],
            self.client,
            unresolved,
            record=record,
            sleep=self.clock.sleep,
        )

    def gated(self, gate: PublicationGate, engines: list[EngineLifecycle], timeout: float = 240.0) -> GatedFleet:
        return GatedFleet(
            gate,
            engines,
            self.versions,
            registration_timeout_seconds=timeout,
            clock=self.clock,
            sleep=self.clock.sleep,
        )

    async def started(self) -> GatedFleet:
        """Start every engine, and let the weights of version 1 reach all of them."""
        for engine in self.engines:
            await self.run(self.fleet.start(engine.engine_id))
        for model in ("actor", "critic"):
            await self.run(self.fleet.publish(self.gate.snapshot(model), 1))
        return self.fleet

    @property
    def routable(self) -> set[str]:
        return set(self.bench.routable)

    @property
    def posts(self) -> int:
        return self.bench.posts
