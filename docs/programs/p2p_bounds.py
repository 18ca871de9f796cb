"""How many pulls of a wave may go to busy sources, and to any one source, before anybody runs: what docs/p2p-system.md derives.

A wave is pullers that choose at about the same time. While it runs, heartbeats tell of the wave's own pulls, so that a puller may see
any idle source anywhere from idle to `swing`, in whatever way the messages cross. The bounds hold for every such way, because
each counts the pullers whose hashes alone would allow the bad choice in the worst one.
"""

from dataclasses import dataclass
from math import comb

BEYOND = 1e-3
"""How likely more pulls than a bound are, for ids drawn at random."""
LEAST_CAPACITY = 0.1
"""What `spread` counts a full source's free capacity as."""


@dataclass(frozen=True, kw_only=True)
class Wave:
    """Pullers that choose at about the same time, and what they choose among.

    Attributes:
        pullers: How many pull.
        idle: How many sources are idle but for the wave's own pulls.
        busy: How many are busy.
        busy_load: The least load that a busy one publishes, 0 to 1.
        swing: The greatest load that the wave's own pulls can give an idle one, below `busy_load`.
        weight: MX_P2P_LOAD_WEIGHT.
    """

    pullers: int
    idle: int
    busy: int
    busy_load: float
    swing: float
    weight: float = 1.0

    def most_from_busy(self, policy: str) -> int:
        """Return how many pulls go to busy sources at the most."""
        return quantile(self.pullers, self.busy_chance(policy))

    def most_from_one(self, policy: str) -> int:
        """Return how many pulls go to the most pulled-from idle source at the most."""
        return quantile(self.pullers, self.one_chance(policy))

    def busy_chance(self, policy: str) -> float:
        """Return how likely one puller's hashes lead it to a busy source where every idle one looks as loaded as it can."""
        if policy == "load_aware":
            # A hash below 1 must beat all idle ones' by what the busy one is charged more.
            return max(0.0, 1 - self.weight * (self.busy_load - self.swing)) ** self.idle
        busy, idle = self._capacities(policy)
        return self.busy * busy / (self.busy * busy + self.idle * idle)

    def one_chance(self, policy: str) -> float:
        """Return how likely they lead it to a given idle source where that looks idle and every other as loaded as it can."""
        if policy == "load_aware":
            lead = min(1.0, self.weight * self.swing)
            # The integral over the hash u, from 0 to 1, of min(1, u + lead) ** (idle - 1); busy sources only lower it.
            return (1 - lead**self.idle) / self.idle + lead
        busy, idle = self._capacities(policy)
        return 1 / (1 + (self.idle - 1) * idle + self.busy * busy)

    def _capacities(self, policy: str) -> tuple[float, float]:
        weight = {"spread": self.weight, "rendezvous_hash": 0.0}[policy]
        busy, idle = (max(1 - load, LEAST_CAPACITY) ** weight for load in (self.busy_load, self.swing))
        return busy, idle


def quantile(trials: int, chance: float) -> int:
    """Return the least number that so many independent trials exceed with a probability of at most `BEYOND`."""
    left = 1.0
    for count in range(trials + 1):
        left -= comb(trials, count) * chance**count * (1 - chance) ** (trials - count)
        if left <= BEYOND:
            return count
    return trials
