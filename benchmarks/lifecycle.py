"""How late `register` returns, and how many requests it takes, against polling once a second.

A router of one release on a socket, in real time, and an engine that becomes healthy at a set moment. Beside the client a prober
looks at the router's list every 2 ms; the first moment at which it sees the worker active by the client's own rule (listed, and
healthy, or `ready` on SMG) is where the delay begins. In the same run the same activations are waited for by a loop that reads the
record and the list once a second.

    uv run python benchmarks/lifecycle.py              # a fake sglang-router 0.3.2, all activations, about 6 minutes
    uv run python benchmarks/lifecycle.py --short      # those under 2 s, under 20 s
    uv run python benchmarks/lifecycle.py --router-version smg-1.13.0 --any-moment
    uv run python benchmarks/lifecycle.py --released   # the router of the wheel, from an isolated environment

sglang-router probes a new worker 0, 1, 3, 6, ... s after the submission, so that is when activations come. --any-moment has the fake
probe all the time instead, so that they come whenever the engine is ready, as they do where others hold the router up; the moments
are drawn evenly from 0 to 2 s, and around 2, 10 and 60 s.

Figures: milliseconds from that moment to the return, median and worst; the median as a share of the time from the submission to
that moment; and the requests of one registration, with those that find out what the router speaks.

The floor is what the requests allow, whoever looks and whenever: N looks within 2 s find at most N * d of these 2 s within d, so at
moments drawn evenly the median can't be below 1000 / N ms. The client asks 4 times before it can look (twice what the router speaks,
once what is listed, and the submission); that leaves 11 of 15 requests.
"""

import argparse
import asyncio
import itertools
import math
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from random import Random
from statistics import median
from urllib.parse import quote

import httpx

from router_lifecycle import HttpxTransport, RouterLifecycleClient, WorkerSpec
from router_lifecycle.models import read_rows
from router_lifecycle.testing import PROFILES, FakeEngine, FakeRouter, Health
from router_lifecycle.testing.profiles import RouterProfile
from router_lifecycle.testing.serving import serve

TESTS = Path(__file__).parents[1] / "tests"
SHORT_SECONDS = (0.0, 0.0, 0.0, 0.3, 0.7)
SHORT_REPEATS = 6
ANY_MOMENTS = 7
LONG_REPEATS = {2.0: 6, 10.0: 4, 60.0: 1}
AIM_MS, AIM_SHARE, AIM_REQUESTS = 60.0, 0.10, 15
BEFORE_LOOKS = 4
PROBE_SECONDS = 0.002
POLL_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Measured:
    """One registration.

    Attributes:
        active_seconds: From the call to the first moment at which the prober saw the worker active.
        late_ms: From that moment to the return.
        requests: How many it sent.
    """

    active_seconds: float
    late_ms: float
    requests: int


def steady(version: str) -> RouterProfile:
    """Return a release that probes new workers without pauses."""
    known = PROFILES[version]
    return replace(known, probe_gaps_seconds=(0.01,))


@dataclass(frozen=True, slots=True)
class Stage:
    """A router, and what puts up engines that it reaches.

    Attributes:
        address: URL of the router.
        engine: Returns an engine that begins as described.
    """

    address: str
    engine: Callable[[Health], Awaitable[FakeEngine]]


@contextmanager
def served(version: str) -> Iterator[tuple[FakeRouter, str]]:
    """Serve a fake router in a thread of its own."""
    router = FakeRouter(version, clock=time.monotonic)
    loop = asyncio.new_event_loop()
    ready = threading.Event()
    address: list[str] = []
    stopped = asyncio.Event()

    async def run() -> None:
        async with serve(router) as url:
            address.append(url)
            ready.set()
            await stopped.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(run(),))
    thread.start()
    ready.wait()
    try:
        yield router, address[0]
    finally:
        loop.call_soon_threadsafe(stopped.set)
        thread.join()
        loop.close()


@asynccontextmanager
async def fake_stage(version: str) -> AsyncIterator[Stage]:
    """Play a release with the fake router."""
    with served(version) as (router, address):
        numbers = itertools.count()

        async def engine(health: Health) -> FakeEngine:
            number = next(numbers)
            made = FakeEngine(f"http://10.0.{number // 250}.{number % 250 + 1}:30000", health=health)
            router.add_engine(made)
            return made

        yield Stage(address, engine)


@asynccontextmanager
async def released_stage(version: str) -> AsyncIterator[Stage]:
    """Run a release from an isolated environment, with engines on real ports, as tests/routers does."""
    sys.path += [str(TESTS / "routers"), str(TESTS / "faults")]
    sites = import_module("sites")
    with tempfile.TemporaryDirectory() as folder:
        async with sites.released(version, Path(folder)) as site:
            told = site.told
            print(f"{told['distribution']} {told['version']}, Python {told['python']}; stood in for: {sites.STOOD_IN}")
            place = await site.place(sites.Flags(startup_timeout_seconds=None))
            yield Stage(place.url, lambda health: place.engine(health=health))


@dataclass(slots=True)
class Prober:
    """Looks at the router's list every 2 ms, or as often as the machine lets it.

    Attributes:
        gaps_ms: Between its looks.
    """

    gaps_ms: list[float]

    async def first_active(self, http: httpx.AsyncClient, worker_url: str) -> tuple[float, str]:
        """Return the moment from which the router's list shows the worker active, and its id."""
        before = time.monotonic()
        while True:
            entries = (await http.get("/workers")).json()["workers"]
            now = time.monotonic()
            self.gaps_ms.append((now - before) * 1e3)
            before = now
            for row in read_rows(entries):
                if row.is_routable and row.base_url == worker_url:
                    return now, row.id or worker_url
            await asyncio.sleep(PROBE_SECONDS)


async def measure(
    stage: Stage, prober: Prober, after_seconds: float, register: Callable[[str, str], Awaitable[int]]
) -> Measured:
    """Register one worker that becomes healthy that long after the call, and remove it, so that lists stay short."""
    engine = await stage.engine(Health.HEALTHY if after_seconds == 0 else Health.LOADING)
    async with httpx.AsyncClient(base_url=stage.address, trust_env=False) as http:
        await http.get("/workers")
        if after_seconds:
            engine.becomes(Health.HEALTHY, time.monotonic() + after_seconds)
        probing = asyncio.create_task(prober.first_active(http, engine.url))
        began = time.monotonic()
        requests = await register(stage.address, engine.url)
        returned = time.monotonic()
        seen, worker_id = await probing
        active = min(seen, returned)
        await http.delete(f"/workers/{quote(worker_id, safe='')}")
    return Measured(active - began, (returned - active) * 1e3, requests)


async def by_client(address: str, worker_url: str) -> int:
    """Register with the client; return how many requests that took."""
    sent = 0

    async def count(_request: httpx.Request) -> None:
        nonlocal sent
        sent += 1

    http = httpx.AsyncClient(trust_env=False, event_hooks={"request": [count]})
    async with RouterLifecycleClient(address, transport=HttpxTransport(address, client=http)) as client:
        await client.register(WorkerSpec(url=worker_url))
    return sent


async def by_fixed_polling(address: str, worker_url: str) -> int:
    """Register, and read record and list once a second; return how many requests that took."""
    async with httpx.AsyncClient(base_url=address, trust_env=False) as http:
        accepted = (await http.post("/workers", json={"url": worker_url})).json()
        sent = 1
        while True:
            await http.get(f"/workers/{quote(accepted['worker_id'], safe='')}")
            entries = (await http.get("/workers")).json()["workers"]
            sent += 2
            if any(row.is_routable for row in read_rows(entries) if row.base_url == worker_url):
                return sent
            await asyncio.sleep(POLL_SECONDS)


WAYS: dict[str, Callable[[str, str], Awaitable[int]]] = {"client": by_client, "1 s polling": by_fixed_polling}


def line(way: str, measured: list[Measured]) -> str:
    """Return one row of the table."""
    late = [one.late_ms for one in measured]
    share = median(one.late_ms / 1e3 / one.active_seconds for one in measured)
    requests = max(one.requests for one in measured)
    active = median(one.active_seconds for one in measured)
    return f"{way:<13}{active:>10.2f}{median(late):>11.0f}{max(late):>10.0f}{share:>9.1%}{requests:>10}"


def drawn(*, short: bool, any_moment: bool) -> list[list[float]]:
    """Return when engines become healthy, by the row of the table; at any moment each is drawn from a part of the time of its own."""
    random = Random(0)

    def evenly(begin: float, end: float, count: int) -> list[float]:
        found = [begin + (end - begin) * (part + random.random()) / count for part in range(count)]
        return random.sample(found, count)

    repeats = 1 if short else SHORT_REPEATS
    longer = {} if short else LONG_REPEATS
    if any_moment:
        first = evenly(0.001, 2.0, ANY_MOMENTS * repeats)
        return [first, *(evenly(0.8 * after, 1.2 * after, times) for after, times in longer.items())]
    return [list(SHORT_SECONDS) * repeats, *([after] * times for after, times in longer.items())]


async def compare(opened: AbstractAsyncContextManager[Stage], *, short: bool, any_moment: bool) -> None:
    """Measure both ways and print the table."""
    prober = Prober([])
    async with opened as stage:
        print(f"{'':<13}{'active s':>10}{'median ms':>11}{'worst ms':>10}{'share':>9}{'requests':>10}")
        for row in drawn(short=short, any_moment=any_moment):
            measured: dict[str, list[Measured]] = {way: [] for way in WAYS}
            for after_seconds in row:
                for way, register in WAYS.items():
                    measured[way].append(await measure(stage, prober, after_seconds, register))
            for way, several in measured.items():
                print(line(way, several))
    print(f"the prober looked every {median(prober.gaps_ms):.0f} ms")
    print(
        f"aims: {AIM_MS:.0f} ms median under 2 s, {AIM_SHARE:.0%} of the time beyond; {AIM_REQUESTS} requests for 2 s, 40 for 60 s"
    )
    if any_moment:
        looks, needed = AIM_REQUESTS - BEFORE_LOOKS, math.ceil(1000 / AIM_MS)
        print(
            f"floor: {AIM_REQUESTS} requests are {looks} looks within 2 s and {1000 / looks:.0f} ms; "
            f"{AIM_MS:.0f} ms take {needed} looks, {needed + BEFORE_LOOKS} requests"
        )


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help="activations under 2 s, once each")
    parser.add_argument("--router-version", default="0.3.2", choices=PROFILES, help="the release")
    either = parser.add_mutually_exclusive_group()
    either.add_argument("--any-moment", action="store_true", help="activations whenever the engine is ready")
    either.add_argument("--released", action="store_true", help="run the release itself instead of playing it")
    options = parser.parse_args()
    if options.any_moment:
        PROFILES[options.router_version] = steady(options.router_version)
    opened = (released_stage if options.released else fake_stage)(options.router_version)
    asyncio.run(compare(opened, short=options.short, any_moment=options.any_moment))


if __name__ == "__main__":
    main()
