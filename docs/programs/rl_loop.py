"""A simulated RL loop: engines behind a router, a trainer that updates their weights, and engines that die and are recovered.

    uv run python docs/programs/rl_loop.py                     # engines are async servers, behind a fake router
    uv run python docs/programs/rl_loop.py --engines-as actors # as Ray actors are used, without Ray
    uv run python docs/programs/rl_loop.py --engines-as processes
    uv run python docs/programs/rl_loop.py --no-gate           # register recovered engines at once: the guard finds them
    uv run python docs/programs/rl_loop.py --router-url http://127.0.0.1:30000

Exits with 0 when every response was made with published weights, and with 1 when the guard refused one.
"""

import argparse
import asyncio
import json
import random
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from collections.abc import Set as AbstractSet
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any, Protocol
from uuid import uuid4

import httpx

from router_lifecycle import RouterLifecycleClient, WorkerSpec
from router_lifecycle.publication import (
    EngineGeneration,
    EngineLauncher,
    EngineLifecycle,
    GatedFleet,
    GuardPolicy,
    MemoryPublishedVersions,
    PublicationGate,
    StaleWeightError,
    UnresolvedRemovals,
    WeightSnapshot,
    WeightVersionGuard,
    check_response,
)
from router_lifecycle.testing import FakeEngine, FakeRouter, Health
from router_lifecycle.testing.serving import serve

MODEL = "actor"
_GENERATE_SECONDS = 0.05


class SimulatedEngine:
    """What a router and a trainer need of an engine: it serves the weights of its checkpoint until others are sent to it."""

    def __init__(self, name: str) -> None:
        """Name it, as its responses do."""
        self.name = name
        self.weight_version = "default"
        self.url = ""
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()

    async def start(self, avoid_urls: AbstractSet[str]) -> str:
        """Serve on a free port whose URL isn't to be avoided, and return the URL."""
        passed_over: list[asyncio.Server] = []
        while True:
            server = await asyncio.start_server(self._talk, "127.0.0.1", 0)
            self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            if self.url not in avoid_urls:
                break
            passed_over.append(server)
        for other in passed_over:
            other.close()
        self._server = server
        return self.url

    async def stop(self) -> None:
        """Stop serving, and break what is open."""
        if self._server is not None:
            self._server.close()
            for writer in self._open:
                writer.transport.abort()
            await self._server.wait_closed()

    @property
    def serves(self) -> bool:
        """Whether it still serves."""
        return self._server is not None and self._server.is_serving()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            lengths = [line.split(":")[1] for line in head.lower().splitlines() if line.startswith("content-length:")]
            body = await reader.readexactly(int(lengths[0]) if lengths else 0)
            path = head.split()[1]
            if path.startswith("/generate"):
                await asyncio.sleep(_GENERATE_SECONDS)
            answer = json.dumps(self._answer(path, body)).encode()
            writer.write(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s"
                % (len(answer), answer)
            )
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self._open.discard(writer)
            writer.close()

    def _answer(self, path: str, body: bytes) -> dict[str, Any]:
        if path.startswith("/update_weights"):
            self.weight_version = str(json.loads(body)["version"])
        if path.startswith("/generate"):
            return {"text": self.name, "meta_info": {"weight_version": self.weight_version, "finish_reason": None}}
        if path.startswith("/v1/models"):
            return {"object": "list", "data": [{"id": MODEL, "object": "model"}]}
        return {"model_path": MODEL, "served_model_name": MODEL, "tp_size": 1, "dp_size": 1, "is_generation": True}


class ServerLauncher:
    """Engines that are async servers in the trainer's own event loop."""

    def __init__(self) -> None:
        """Nothing runs yet."""
        self._engines: dict[str, SimulatedEngine] = {}

    async def start(self, generation: EngineGeneration, *, avoid_urls: AbstractSet[str]) -> WorkerSpec:
        """Start a server."""
        engine = self._engines[generation.generation_id] = SimulatedEngine(generation.engine_id)
        return WorkerSpec(url=await engine.start(avoid_urls))

    async def stop(self, generation: EngineGeneration, *, force: bool) -> None:
        """Stop it; here to ask and to kill are one."""
        del force
        engine = self._engines.pop(generation.generation_id, None)
        if engine is not None:
            await engine.stop()

    async def is_alive(self, generation: EngineGeneration) -> bool:
        """Return whether it serves."""
        engine = self._engines.get(generation.generation_id)
        return engine is not None and engine.serves


class EngineActor:
    """What would be decorated with `@ray.remote`: blocking methods, in a process of its own (here a thread)."""

    def __init__(self, name: str) -> None:
        """Start the loop that the engine serves in."""
        self._engine = SimulatedEngine(name)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def serve(self, avoid_urls: AbstractSet[str]) -> str:
        """Start serving, and return the URL."""
        return str(self._run(self._engine.start(avoid_urls)))

    def shutdown(self) -> None:
        """Stop serving, and end."""
        self._run(self._engine.stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def is_alive(self) -> bool:
        """Return whether it serves."""
        return self._thread.is_alive() and self._engine.serves

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


def remote(method: Callable[..., Any], *arguments: object) -> Awaitable[Any]:
    """Call a method of an actor; with Ray this is `actor.method.remote(*arguments)`, which can be awaited as well."""
    return asyncio.to_thread(method, *arguments)


class ActorLauncher:
    """Engines that are Ray actors; named after the generation (`Actor.options(name=...)`), another driver finds them again."""

    def __init__(self) -> None:
        """Nothing runs yet."""
        self._actors: dict[str, EngineActor] = {}

    async def start(self, generation: EngineGeneration, *, avoid_urls: AbstractSet[str]) -> WorkerSpec:
        """Create the actor and let it serve."""
        actor = self._actors[generation.generation_id] = EngineActor(generation.engine_id)
        return WorkerSpec(url=await remote(actor.serve, avoid_urls))

    async def stop(self, generation: EngineGeneration, *, force: bool) -> None:
        """Ask the actor to shut down; with force this would be `ray.kill(actor)`."""
        del force
        actor = self._actors.pop(generation.generation_id, None)
        if actor is not None:
            await remote(actor.shutdown)

    async def is_alive(self, generation: EngineGeneration) -> bool:
        """Return whether the actor serves; with Ray, a dead actor raises, which counts as not alive."""
        actor = self._actors.get(generation.generation_id)
        return actor is not None and bool(await remote(actor.is_alive))


class ProcessLauncher:
    """Engines that are processes."""

    def __init__(self) -> None:
        """Nothing runs yet."""
        self._processes: dict[str, asyncio.subprocess.Process] = {}

    async def start(self, generation: EngineGeneration, *, avoid_urls: AbstractSet[str]) -> WorkerSpec:
        """Start a process, which prints its URL when it serves."""
        command = (sys.executable, __file__, "--serve", generation.engine_id, "--avoid", *avoid_urls)
        process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
        self._processes[generation.generation_id] = process
        if process.stdout is None:
            raise RuntimeError("a process without the pipe that it was given")
        return WorkerSpec(url=(await process.stdout.readline()).decode().strip())

    async def stop(self, generation: EngineGeneration, *, force: bool) -> None:
        """Send SIGTERM or SIGKILL, and wait for its end."""
        process = self._processes.get(generation.generation_id)
        if process is not None and process.returncode is None:
            (process.kill if force else process.terminate)()
            await process.wait()

    async def is_alive(self, generation: EngineGeneration) -> bool:
        """Return whether the process runs."""
        process = self._processes.get(generation.generation_id)
        return process is not None and process.returncode is None


LAUNCHERS: dict[str, Callable[[], EngineLauncher]] = {
    "servers": ServerLauncher,
    "actors": ActorLauncher,
    "processes": ProcessLauncher,
}


class Router(Protocol):
    """Where rollouts are sent."""

    async def generate(self, http: httpx.AsyncClient, prompt: str) -> dict[str, Any] | None:
        """Return a response, or None when no engine gave one."""


@dataclass
class RealRouter:
    """A router at a URL."""

    url: str

    async def generate(self, http: httpx.AsyncClient, prompt: str) -> dict[str, Any] | None:
        """Let the router choose."""
        answer = await http.post(f"{self.url}/generate", json={"text": prompt})
        return answer.json() if answer.is_success else None


@dataclass
class PlayedRouter:
    """The fake router, which doesn't forward: the request goes to an engine that it would choose."""

    fake: FakeRouter

    async def generate(self, http: httpx.AsyncClient, prompt: str) -> dict[str, Any] | None:
        """Choose among what is routable."""
        routable = [worker.url for worker in self.fake.workers if worker.routable]
        if not routable:
            return None
        try:
            answer = await http.post(f"{random.choice(routable)}/generate", json={"text": prompt})  # noqa: S311 - it balances
        except httpx.TransportError:
            return None
        return dict(answer.json())


@dataclass
class KnownToFake:
    """A launcher whose engines the fake router can probe."""

    launcher: EngineLauncher
    fake: FakeRouter
    known: dict[str, FakeEngine]

    async def start(self, generation: EngineGeneration, *, avoid_urls: AbstractSet[str]) -> WorkerSpec:
        """Start the engine, and let the fake reach it."""
        ports_that_were_used = avoid_urls | {engine.url for engine in self.known.values()}
        spec = await self.launcher.start(generation, avoid_urls=ports_that_were_used)
        engine = self.known[generation.generation_id] = FakeEngine(spec.url)
        self.fake.add_engine(engine)
        return spec

    async def stop(self, generation: EngineGeneration, *, force: bool) -> None:
        """Stop the engine, for the fake too."""
        await self.launcher.stop(generation, force=force)
        if generation.generation_id in self.known:
            self.known[generation.generation_id].becomes(Health.DOWN, self.fake.clock())

    async def is_alive(self, generation: EngineGeneration) -> bool:
        """Return whether the engine is alive."""
        return await self.launcher.is_alive(generation)


@dataclass
class Loop:
    """The trainer."""

    fleet: GatedFleet
    launchers: dict[str, EngineLauncher]
    router: Router
    guard: WeightVersionGuard
    http: httpx.AsyncClient
    gated: bool
    served: int = 0
    unanswered: int = 0
    refused: list[StaleWeightError] = field(default_factory=list)

    async def transfer(self, snapshot: WeightSnapshot, version: int) -> None:
        """Send weights to the engines of a snapshot, and raise when one hasn't got them."""
        for generation in snapshot.generations:
            url = self.fleet.engines[generation.engine_id].url
            (await self.http.post(f"{url}/update_weights", json={"version": version})).raise_for_status()

    async def update(self, version: int) -> None:
        """Transfer new weights to all engines and publish them."""
        snapshot = self.fleet.gate.snapshot(MODEL)
        await self.transfer(snapshot, version)
        report = await self.fleet.publish(snapshot, version)
        for generation, error in (report.pending | report.quarantined).items():
            print(f"   {generation}: {error}")

    async def roll_out(self, requests: int) -> None:
        """Send requests through the router, and keep what the guard lets pass."""
        # At once, as trainers do: a router may send requests that follow each other to one engine.
        async with asyncio.TaskGroup() as group:
            for _ in range(requests):
                group.create_task(self._ask())

    async def _ask(self) -> None:
        body = await self.router.generate(self.http, f"{uuid4()} is")
        if body is None:
            self.unanswered += 1
            return
        self.served += 1
        try:
            check_response(self.guard, body, model=MODEL, source=f"engine {body['text']}")
        except StaleWeightError as error:
            self.refused.append(error)

    async def lose_and_recover(self, engine_id: str) -> None:
        """Kill an engine as an out-of-memory kill would, find it dead, and recover it."""
        engine = self.fleet.engines[engine_id]
        if engine.generation is not None:
            await self.launchers[engine_id].stop(engine.generation, force=True)
        if not await engine.is_alive():
            await self.fleet.recover(engine_id)
        if not self.gated and engine.generation is not None:
            await engine.register(engine.generation)

    async def run(self, steps: int, requests: int) -> None:
        """Start everything, then train."""
        async with asyncio.TaskGroup() as group:
            for engine_id in self.fleet.engines:
                group.create_task(self.fleet.start(engine_id))
        await self.update(1)
        for step in range(1, steps + 1):
            lost = list(self.fleet.engines)[step % len(self.fleet.engines)]
            await self.roll_out(requests)
            await self.lose_and_recover(lost)
            # Its weights are those of the checkpoint now: until the next update the others serve alone.
            await self.roll_out(requests)
            await self.update(step + 1)
            counts = self.fleet.gate.as_dict()
            routable = counts[f"publication/{MODEL}/routable"]
            print(f"step {step}: lost {lost}, {routable} routable, {self.served} served, {len(self.refused)} refused")


async def train(options: argparse.Namespace) -> int:
    """Build the fleet, run the loop, and stop everything."""
    async with AsyncExitStack() as stack:
        make = LAUNCHERS[options.engines_as]
        names = [f"e{place}" for place in range(options.engines)]
        launchers: dict[str, EngineLauncher] = {name: make() for name in names}
        router: Router = RealRouter(options.router_url)
        url = options.router_url
        if url is None:
            fake = FakeRouter("0.3.2", clock=time.monotonic)
            url = await stack.enter_async_context(serve(fake))
            router = PlayedRouter(fake)
            known: dict[str, FakeEngine] = {}
            launchers = {name: KnownToFake(launcher, fake, known) for name, launcher in launchers.items()}
        client = await stack.enter_async_context(RouterLifecycleClient(url))
        http = await stack.enter_async_context(httpx.AsyncClient(trust_env=False, timeout=30.0))
        unresolved = UnresolvedRemovals()
        engines = [EngineLifecycle(name, MODEL, launchers[name], client, unresolved) for name in names]
        versions = MemoryPublishedVersions()
        fleet = GatedFleet(PublicationGate([MODEL]), engines, versions)
        guard = WeightVersionGuard(versions, GuardPolicy(default_model=MODEL, max_versions_behind=0))
        loop = Loop(fleet, launchers, router, guard, http, gated=not options.no_gate)
        try:
            await loop.run(options.steps, options.requests)
            print(fleet.gate.table())
        finally:
            await asyncio.gather(*(engine.stop() for engine in engines))
        for error in loop.refused[:3]:
            print(f"refused: {error}")
        print(f"{loop.served} served, {loop.unanswered} unanswered, {len(loop.refused)} refused")
        return 1 if loop.refused else 0


async def serve_one(name: str, avoid_urls: AbstractSet[str]) -> None:
    """Be one engine, until the process ends."""
    print(await SimulatedEngine(name).start(avoid_urls), flush=True)
    await asyncio.Event().wait()


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description="a simulated RL loop with engines that die")
    parser.add_argument("--router-url", help="of a router; without it, a fake one is played")
    parser.add_argument("--engines", type=int, default=4, help="how many")
    parser.add_argument("--engines-as", choices=LAUNCHERS, default="servers", help="what an engine is")
    parser.add_argument("--steps", type=int, default=5, help="each loses and recovers one engine")
    parser.add_argument("--requests", type=int, default=20, help="before and after each loss")
    parser.add_argument("--no-gate", action="store_true", help="register recovered engines before they have weights")
    parser.add_argument("--serve", metavar="NAME", help=argparse.SUPPRESS)
    parser.add_argument("--avoid", nargs="*", default=(), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        asyncio.run(serve_one(options.serve, frozenset(options.avoid)))
    else:
        raise SystemExit(asyncio.run(train(options)))


if __name__ == "__main__":
    main()
