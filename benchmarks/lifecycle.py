"""How late `register` returns, and how many requests it takes, against polling once a second.

A fake router of one release on a socket, in real time, in a thread of its own, and an engine that becomes healthy at a set moment.
Beside the client a prober looks at the router's list every 2 ms; the first moment at which it sees the worker active by the
client's own rule (listed, and healthy, or `ready` on SMG) is where the delay begins. In the same run the same activations are
waited for by a loop that reads the record and the list once a second.

    uv run python benchmarks/lifecycle.py              # all activations, about 4 minutes
    uv run python benchmarks/lifecycle.py --short      # those under 2 s, under 20 s
    uv run python benchmarks/lifecycle.py --router-version smg-1.13.0 --any-moment

sglang-router probes a new worker 0, 1, 3, 6, ... s after the submission, so that is when activations come. --any-moment has the fake
probe all the time instead, so that they come whenever the engine is ready, as they do where others hold the router up.

Figures: milliseconds from that moment to the return, median and worst; the median as a share of the time from the submission to
that moment; and the requests of one registration, with those that find out what the router speaks.
"""

import argparse
import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from statistics import median
from urllib.parse import quote

import httpx

from router_lifecycle import HttpxTransport, RouterLifecycleClient, WorkerSpec
from router_lifecycle.models import read_rows
from router_lifecycle.testing import PROFILES, FakeEngine, FakeRouter, Health
from router_lifecycle.testing.profiles import RouterProfile
from router_lifecycle.testing.serving import serve

SHORT_SECONDS = (0.0, 0.0, 0.0, 0.3, 0.7)
ANY_MOMENT_SECONDS = (0.0, 0.3, 0.6, 0.9, 1.2, 1.5, 1.8)
LONG_SECONDS = (2.0, 10.0, 60.0)
AIM_MS, AIM_SHARE = 60.0, 0.10
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


async def first_active(http: httpx.AsyncClient, worker_url: str) -> float:
    """Return the moment from which the router's list shows the worker active."""
    while True:
        entries = (await http.get("/workers")).json()["workers"]
        if any(row.is_routable for row in read_rows(entries) if row.base_url == worker_url):
            return time.monotonic()
        await asyncio.sleep(PROBE_SECONDS)


async def measure(
    router: FakeRouter, address: str, number: int, after_seconds: float, register: Callable[[str, str], Awaitable[int]]
) -> Measured:
    """Register one worker that becomes healthy that long after the call."""
    worker_url = f"http://10.0.{number // 250}.{number % 250 + 1}:30000"
    engine = FakeEngine(worker_url, health=Health.HEALTHY if after_seconds == 0 else Health.LOADING)
    if after_seconds:
        engine.becomes(Health.HEALTHY, time.monotonic() + after_seconds)
    router.add_engine(engine)
    async with httpx.AsyncClient(base_url=address, trust_env=False) as http:
        prober = asyncio.create_task(first_active(http, worker_url))
        began = time.monotonic()
        requests = await register(address, worker_url)
        returned = time.monotonic()
        active = min(await prober, returned)
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


async def compare(
    router: FakeRouter, address: str, repeats: int, short_seconds: tuple[float, ...], long_seconds: tuple[float, ...]
) -> None:
    """Measure both ways and print the table."""
    number = 0
    print(f"{'':<13}{'active s':>10}{'median ms':>11}{'worst ms':>10}{'share':>9}{'requests':>10}")
    short: dict[str, list[Measured]] = {way: [] for way in WAYS}
    for _ in range(repeats):
        for after_seconds in short_seconds:
            for way, register in WAYS.items():
                number += 1
                short[way].append(await measure(router, address, number, after_seconds, register))
    for way, measured in short.items():
        print(line(way, measured))
    for after_seconds in long_seconds:
        for way, register in WAYS.items():
            number += 1
            print(line(way, [await measure(router, address, number, after_seconds, register)]))
    print(
        f"aims: {AIM_MS:.0f} ms median under 2 s, {AIM_SHARE:.0%} of the time beyond; 15 requests for 2 s, 40 for 60 s"
    )


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help="activations under 2 s, once each")
    parser.add_argument("--router-version", default="0.3.2", choices=PROFILES, help="the release that is played")
    parser.add_argument("--any-moment", action="store_true", help="activations whenever the engine is ready")
    options = parser.parse_args()
    if options.any_moment:
        PROFILES[options.router_version] = steady(options.router_version)
    short_seconds = ANY_MOMENT_SECONDS if options.any_moment else SHORT_SECONDS
    repeats, long_seconds = (1, ()) if options.short else (3, LONG_SECONDS)
    with served(options.router_version) as (router, address):
        asyncio.run(compare(router, address, repeats, short_seconds, long_seconds))


if __name__ == "__main__":
    main()
