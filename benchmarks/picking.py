"""What counting a router's own picks is worth: the longest queue of a fleet, with it and without.

A simulation, so the same figures on every machine. Workers take requests into their slots and queue the rest; their
load is sampled once an interval, all at the same moment, and the routers decide on it with the real pickers, until the
next one. "forgetful" finishes every ticket at once, which is what a router does that sends by the newest report alone;
"own" counts each pick once, and "all" once for each router that the Workers know of, as the pickers do by default. The
floor is random choice, which looks at nothing.

    uv run python benchmarks/picking.py            # the whole table, under a minute
    uv run python benchmarks/picking.py --short    # a quarter of the time simulated

Figures: the longest queue that any Worker ever had, in requests, and that of "forgetful" over that of "all". The last
part is measured, not simulated: microseconds of one pick by the number of Workers of 8 ranks.
"""

import argparse
import heapq
import time
from collections import deque
from collections.abc import Callable
from random import Random
from typing import Literal, TypeAlias

from loadmonitor_router.picking import InFlight, LeastLoaded, PowerOfTwoChoices, WeightedRandom
from loadmonitor_router.picking.testing import make_rank, make_snapshot, make_worker
from loadmonitor_router.snapshot import FleetSnapshot

WORKERS = 16
SLOTS = 32
SERVICE_MS = 1_000.0
UTILISATION = 0.7
INTERVAL_MS = 1_000
DISPATCH_MS = 5
DELIVERY_MS = 10
Policy: TypeAlias = LeastLoaded | PowerOfTwoChoices | WeightedRandom
POLICIES: dict[str, type[Policy]] = {
    "least loaded": LeastLoaded,
    "power of two": PowerOfTwoChoices,
    "weighted": WeightedRandom,
}
NS_PER_MS = 1_000_000


class Worker:
    """An engine: so many requests at once, the others wait in order."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._ends: list[float] = []
        self.waiting: deque[float] = deque()

    def submit(self) -> None:
        """Queue a request."""
        self.waiting.append(self._rng.expovariate(1 / SERVICE_MS))

    def run(self, now_ms: float) -> None:
        """End what is done, and begin what fits."""
        while self._ends and self._ends[0] <= now_ms:
            heapq.heappop(self._ends)
        while self.waiting and len(self._ends) < SLOTS:
            heapq.heappush(self._ends, now_ms + self.waiting.popleft())

    @property
    def running(self) -> int:
        """How many requests are in the slots."""
        return len(self._ends)


def longest_queue(policy: str, routers: int, seconds: int, counting: Literal["forgetful", "own", "all"]) -> int:
    """Simulate one fleet, in steps of a millisecond; return the longest queue after the first two intervals."""
    rng = Random(1)
    now_ms = 0
    engines = {f"http://w{number}:1": Worker(rng) for number in range(WORKERS)}
    urls = list(engines)
    pickers: list[Policy] = [
        POLICIES[policy](
            rng=Random(number),
            in_flight=InFlight(monotonic_ns=lambda: now_ms * NS_PER_MS),
            routers=1 if counting == "own" else None,
        )
        for number in range(routers)
        if policy != "random"
    ]
    on_the_way: deque[tuple[int, str]] = deque()
    fleet = make_snapshot()
    coming: FleetSnapshot | None = None
    longest, rate = 0, WORKERS * SLOTS * UTILISATION / SERVICE_MS
    due = 0.0
    for now_ms in range(seconds * 1_000):
        while on_the_way and on_the_way[0][0] <= now_ms:
            engines[on_the_way.popleft()[1]].submit()
        for engine in engines.values():
            engine.run(now_ms)
        if now_ms % INTERVAL_MS == 0:
            coming = sample(engines, now_ms, routers)
        if coming is not None and now_ms % INTERVAL_MS == DELIVERY_MS:
            fleet, coming = coming, None
        due += rate
        while due >= 1:
            due -= 1
            on_the_way.append(
                (now_ms + DISPATCH_MS, send(pickers, rng, fleet, urls, remembers=counting != "forgetful"))
            )
        if now_ms > 2 * INTERVAL_MS:
            longest = max(longest, *(len(engine.waiting) for engine in engines.values()))
    return longest


def sample(engines: dict[str, Worker], now_ms: int, routers: int) -> FleetSnapshot:
    """Read every engine at this moment. Taken when sampled, so that the snapshot may be used at any later time."""
    return make_snapshot(
        *[
            make_worker(
                url,
                make_rank(
                    num_running_reqs=engine.running,
                    num_waiting_reqs=len(engine.waiting),
                    token_usage=engine.running / SLOTS,
                    max_running_requests=SLOTS,
                ),
                active_routers=routers,
            )
            for url, engine in engines.items()
        ],
        taken_ms=now_ms,
    )


def send(
    pickers: list[Policy],
    rng: Random,
    fleet: FleetSnapshot,
    urls: list[str],
    *,
    remembers: bool,
) -> str:
    """Let one of the routers place a request."""
    if not pickers:
        return rng.choice(urls)
    picker = rng.choice(pickers)
    choice = picker.pick(fleet, urls)
    if not remembers:
        picker.in_flight.finished(choice.ticket)
    return choice.url


def microseconds(action: Callable[[], object], seconds: float) -> float:
    """Return how long one call takes."""
    calls, start = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - start) < seconds:
        action()
        calls += 1
    return elapsed / calls * 1e6


def pick_cost(policy: str, workers: int, seconds: float) -> float:
    """Return the microseconds of one pick among Workers of 8 ranks."""
    ranks = [make_rank(rank, num_running_reqs=rank, token_usage=0.5) for rank in range(8)]
    fleet = make_snapshot(*[make_worker(f"http://w{number}:1", *ranks) for number in range(workers)])
    urls = list(fleet.workers)
    picker = POLICIES[policy](rng=Random(1), in_flight=InFlight(monotonic_ns=lambda: 0))

    def pick() -> None:
        picker.in_flight.finished(picker.pick(fleet, urls).ticket)

    return microseconds(pick, seconds)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help="a quarter of the time simulated")
    seconds = 10 if parser.parse_args().short else 40
    print(f"{WORKERS} Workers x {SLOTS} slots, {UTILISATION:.0%} busy, a report each {INTERVAL_MS} ms, {seconds} s")
    print(f"{'policy':<14}{'routers':>8}{'forgetful':>11}{'own':>6}{'all':>6}{'ratio':>8}")
    for routers in (1, 4):
        print(f"{'random':<14}{routers:>8}{longest_queue('random', routers, seconds, 'forgetful'):>11}")
        for policy in POLICIES:
            forgetful = longest_queue(policy, routers, seconds, "forgetful")
            own = longest_queue(policy, routers, seconds, "own")
            everybody = longest_queue(policy, routers, seconds, "all")
            ratio = forgetful / max(1, everybody)
            print(f"{policy:<14}{routers:>8}{forgetful:>11}{own:>6}{everybody:>6}{ratio:>7.1f}x")
    print(f"\n{'us per pick':<14}{'10':>8}{'100':>8}{'1000':>8}")
    for policy in POLICIES:
        costs = "".join(f"{pick_cost(policy, workers, seconds / 20):>8.0f}" for workers in (10, 100, 1_000))
        print(f"{policy:<14}{costs}")


if __name__ == "__main__":
    main()
