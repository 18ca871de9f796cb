"""No source gets more targets than it has room for, where `load_aware` sends them all to one."""

from collections import Counter

import pytest

from p2p_selection import (
    LEAST_CAPACITY,
    BoundedLoad,
    Candidate,
    LoadAware,
    RendezvousHash,
    SourceSelector,
    Spread,
    Target,
)

PULLERS = 200
FLEET = [Candidate("5a5f555570065064", f"source-{n}", 0, 0.0 if n == 0 else 1.0) for n in range(16)]
CAPACITY = {c.worker_id: max(1.0 - (c.source_load or 0.0), LEAST_CAPACITY) for c in FLEET}


def first_choices(selector: SourceSelector) -> Counter[str]:
    targets = (Target("m", f"target-{n}", 0) for n in range(PULLERS))
    return Counter(selector.top(FLEET, target, 1)[0].worker_id for target in targets)


def shares(selector: SourceSelector) -> dict[str, float]:
    """Return what each source got, in fair shares: its part of all free capacity."""
    got = first_choices(selector)
    return {c: got[c] / (PULLERS * capacity / sum(CAPACITY.values())) for c, capacity in CAPACITY.items()}


def test_one_idle_source_among_sixteen_gets_its_share_from_spread() -> None:
    idle, *busy = shares(Spread()).values()
    assert 0.5 < idle <= 1.5
    assert max(busy) <= 3


def test_the_same_source_gets_every_target_from_load_aware() -> None:
    idle, *busy = shares(LoadAware()).values()
    assert idle > 1.5
    assert first_choices(LoadAware())["source-0"] == PULLERS
    assert not any(busy)


def test_a_changed_load_moves_only_targets_that_gain_or_lose_by_it() -> None:
    before = [Candidate("s", f"w{n}", 0, 0.5) for n in range(16)]
    after = [Candidate("s", "w0", 0, 1.0), *before[1:]]
    for n in range(PULLERS):
        old, new = (Spread().top(listed, Target("m", f"t{n}", 0), 1)[0].worker_id for listed in (before, after))
        assert old in (new, "w0")


# The bound of the second fleet is 0.625, so its busier source lies on it.
@pytest.mark.parametrize("loads", [[0.4, 0.5, 0.45, 0.55], [0.625, 0.375]])
def test_a_load_within_the_bound_changes_nothing(loads: list[float]) -> None:
    listed = [Candidate("s", f"w{n}", 0, load) for n, load in enumerate(loads)]
    for n in range(50):
        target = Target("m", f"t{n}", 0)
        assert BoundedLoad().order(listed, target) == RendezvousHash().order(listed, target)


def test_sources_above_the_bound_come_after_all_others_in_their_own_order() -> None:
    listed = [Candidate("s", f"w{n}", 0, 0.9 if n < 3 else 0.2) for n in range(8)]
    target = Target("m", "t", 0)
    expected = [c for c in RendezvousHash().order(listed, target) if c.source_load == 0.2]
    expected += [c for c in RendezvousHash().order(listed, target) if c.source_load == 0.9]
    assert BoundedLoad().order(listed, target) == expected


@pytest.mark.parametrize("load", [0.0, 0.5, 1.0])
def test_a_fleet_with_one_load_is_within_its_bound(load: float) -> None:
    listed = [Candidate("s", f"w{n}", 0, load) for n in range(7)]
    target = Target("m", "t", 0)
    assert BoundedLoad().order(listed, target) == RendezvousHash().order(listed, target)
