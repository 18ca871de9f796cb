"""The bounds of docs/programs/p2p_bounds.py hold for random fleets, whatever the messages' crossing makes of the idle sources' loads."""

import random
from collections import Counter
from collections.abc import Callable

import pytest
from p2p_bounds import BEYOND, Wave, quantile

from p2p_selection import Candidate, SelectionConfig, Target, get_selector

FLEETS = 50
WAVES = [
    Wave(pullers=32, idle=4, busy=8, busy_load=0.997, swing=0.1),
    Wave(pullers=32, idle=8, busy=8, busy_load=0.7, swing=0.2),
    Wave(pullers=64, idle=8, busy=8, busy_load=0.997, swing=0.2, weight=2.0),
    Wave(pullers=64, idle=1, busy=15, busy_load=1.0, swing=0.5),
    Wave(pullers=16, idle=12, busy=4, busy_load=0.5, swing=0.3, weight=0.5),
]


def most(wave: Wave, policy: str, draw: random.Random, load: Callable[[int, Counter[str]], float]) -> tuple[int, int]:
    """Return the pulls from busy sources, and from the most pulled-from idle one, of a fleet whose ids are drawn."""
    selector = get_selector(policy, SelectionConfig(load_weight=wave.weight))
    names = [f"{draw.getrandbits(32):08x}" for _ in range(wave.idle + wave.busy)]
    pulls: Counter[str] = Counter()
    for _ in range(wave.pullers):
        listed = [
            Candidate("s", name, 0, wave.busy_load if place >= wave.idle else load(place, pulls))
            for place, name in enumerate(names)
        ]
        pulls[selector.top(listed, Target("m", f"{draw.getrandbits(32):08x}", 0), 1)[0].worker_id] += 1
    return sum(pulls[name] for name in names[wave.idle :]), max(pulls[name] for name in names[: wave.idle])


@pytest.mark.parametrize("policy", ["load_aware", "spread"])
@pytest.mark.parametrize("wave", WAVES, ids=range(len(WAVES)))
@pytest.mark.parametrize("crossing", ["busy", "herd", "random"])
def test_no_more_pulls_than_the_bounds_say(wave: Wave, policy: str, crossing: str) -> None:
    draw = random.Random(f"{wave}{policy}{crossing}")
    # The worst for the one bound and for the other, and something in between.
    loads: dict[str, Callable[[int, Counter[str]], float]] = {
        "busy": lambda _place, _pulls: wave.swing,
        "herd": lambda place, _pulls: wave.swing if place else 0.0,
        "random": lambda _place, _pulls: draw.uniform(0.0, wave.swing),
    }
    counts = [most(wave, policy, draw, loads[crossing]) for _ in range(FLEETS)]
    # Each of the idle sources may be the one.
    allowed = quantile(FLEETS, BEYOND), quantile(FLEETS, BEYOND * wave.idle)
    assert sum(busy > wave.most_from_busy(policy) for busy, _ in counts) <= allowed[0]
    assert sum(one > wave.most_from_one(policy) for _, one in counts) <= allowed[1]


def test_the_bounds_are_not_far_from_what_happens() -> None:
    wave, draw = WAVES[0], random.Random(7)
    counts = [most(wave, "spread", draw, lambda _place, _pulls: wave.swing)[0] for _ in range(FLEETS)]
    assert max(counts) >= wave.most_from_busy("spread") - 2
    # And a policy that doesn't look at loads breaks them more often than not.
    blind = sorted(most(wave, "rendezvous_hash", draw, lambda _place, _pulls: 0.0)[0] for _ in range(FLEETS))
    assert blind[FLEETS // 10] > wave.most_from_busy("spread") > wave.most_from_busy("load_aware")


def test_a_load_that_costs_more_than_any_hash_gains_is_never_taken() -> None:
    assert Wave(pullers=64, idle=1, busy=15, busy_load=0.997, swing=0.4, weight=2.0).most_from_busy("load_aware") == 0
