"""Many pullers at once, heartbeats up to 30 s old: how long until the last has its weights, and where they all go.

A simulation in steps of a second, so the same figures on every machine. Sources have a load of their own (a tenth nearly idle,
half busy, the rest between) and what is left of their NIC serves pulls, shared evenly, each at no more than half a NIC. Every
source publishes its load, pulls included, each 30 s at a moment of its own. Pullers arrive within 10 s, know nothing of each
other, and pull from the first of their order. random, rendezvous_hash and load_aware rank as modelexpress 0.7.0 does, to the bit.

    uv run python benchmarks/herding.py                     # 8 to 4,096 pullers, 4 to 512 sources, a few minutes
    uv run python benchmarks/herding.py --short             # the small half, seconds

- makespan: seconds until the last pull ends, over the least that any order could reach (all free capacity busy throughout).
- worst: pulls from the most pulled-from source, over its fair part by free capacity, max(1 - load, 0.1).
- churn: part of 256 targets whose first source changes when every load moves by up to 0.05.
"""

import argparse
import heapq
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

from p2p_selection import (
    LEAST_CAPACITY,
    BoundedLoad,
    Candidate,
    LoadAware,
    RandomOrder,
    RendezvousHash,
    SourceSelector,
    Spread,
    Target,
)

PULLERS = (8, 64, 512, 4_096)
SOURCES = (4, 32, 512)
WORK = 4.0  # NIC seconds of one pull
FASTEST = 0.5  # part of a NIC that one pull can use
HEARTBEAT_SECONDS = 30
ARRIVAL_SECONDS = 10


@dataclass
class Source:
    """A source under way: pulls share what its own load leaves of the NIC."""

    base: float
    phase: int
    served: float = 0.0  # NIC seconds that each pull there since the beginning has got

    def __post_init__(self) -> None:
        self.ends: list[float] = []

    @property
    def free(self) -> float:
        """What pulls may use."""
        return max(1.0 - self.base, LEAST_CAPACITY)

    @property
    def load(self) -> float:
        """What it would publish now."""
        return min(1.0, self.base + FASTEST * len(self.ends))

    def add(self) -> None:
        """Begin a pull."""
        heapq.heappush(self.ends, self.served + WORK)

    def run(self) -> None:
        """Let a second pass."""
        if self.ends:
            self.served += min(FASTEST, self.free / len(self.ends))
            while self.ends and self.ends[0] <= self.served:
                heapq.heappop(self.ends)


@dataclass(frozen=True)
class Outcome:
    """What one policy made of one fleet."""

    policy: str
    pullers: int
    sources: int
    makespan: float
    worst: float
    churn: float


def policies() -> list[SourceSelector]:
    """Return the policies, each anew."""
    return [RandomOrder(seed=1), RendezvousHash(), LoadAware(), BoundedLoad(), Spread()]


def base_load(rng: Random) -> float:
    """Return the load of a source without pulls."""
    kind = rng.random()
    return rng.uniform(0.0, 0.1) if kind < 0.1 else rng.uniform(0.7, 1.0) if kind < 0.6 else rng.uniform(0.1, 0.7)


def simulate(selector: SourceSelector, pullers: int, count: int) -> Outcome:
    """Run one fleet to the end."""
    rng = Random(count)
    fleet = [Source(base_load(rng), rng.randrange(HEARTBEAT_SECONDS)) for _ in range(count)]
    published = [Candidate("5a5f555570065064", f"source-{n}", 0, source.load) for n, source in enumerate(fleet)]
    fair = [source.free / sum(each.free for each in fleet) for source in fleet]
    churn = changed(selector, published, rng)
    picks: Counter[int] = Counter()
    places = {candidate.worker_id: place for place, candidate in enumerate(published)}
    now = arrived = 0
    while arrived < pullers or any(source.ends for source in fleet):
        for place, source in enumerate(fleet):
            if now % HEARTBEAT_SECONDS == source.phase:
                published[place] = replace(published[place], source_load=source.load)
        while arrived < pullers * min(1.0, (now + 1) / ARRIVAL_SECONDS):
            target = Target("deepseek-ai/DeepSeek-V3", f"puller-{arrived}", 0)
            place = places[selector.top(published, target, 1)[0].worker_id]
            fleet[place].add()
            picks[place] += 1
            arrived += 1
        for source in fleet:
            source.run()
        now += 1
    least = max(pullers * WORK / sum(source.free for source in fleet), WORK / FASTEST)
    worst = max(picks[place] / (pullers * fair[place]) for place in picks)
    return Outcome(selector.name, pullers, count, now / least, worst, churn)


def changed(selector: SourceSelector, published: Sequence[Candidate], rng: Random) -> float:
    """Return the part of targets whose first choice changes with the noise of the loads."""
    noisy = [
        replace(each, source_load=min(1.0, max(0.0, (each.source_load or 0.0) + rng.uniform(-0.05, 0.05))))
        for each in published
    ]
    targets = [Target("m", f"target-{number}", 0) for number in range(256)]
    first = [selector.top(published, target, 1)[0].worker_id for target in targets]
    return sum(selector.top(noisy, t, 1)[0].worker_id != old for t, old in zip(targets, first, strict=True)) / 256


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help="up to 512 pullers and 32 sources")
    arguments = parser.parse_args()
    print(f"{'pullers':>7}{'sources':>9}  {'policy':<16}{'makespan':>9}{'worst':>8}{'churn':>8}")
    for count in SOURCES[:2] if arguments.short else SOURCES:
        for pullers in PULLERS[:3] if arguments.short else PULLERS:
            for selector in policies():
                outcome = simulate(selector, pullers, count)
                figures = f"{outcome.makespan:>9.2f}{outcome.worst:>8.1f}{outcome.churn:>8.0%}"
                print(f"{pullers:>7}{count:>9}  {outcome.policy:<16}{figures}", flush=True)


if __name__ == "__main__":
    main()
