"""Laws that every policy keeps, whatever the sources are and say."""

import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from p2p_selection import (
    BoundedLoad,
    Candidate,
    DigestCache,
    LoadAware,
    RandomOrder,
    RendezvousHash,
    ScoredSelector,
    Spread,
    Target,
    TopologyAware,
    known_load,
    rendezvous_digest,
)
from p2p_selection._hashes import unit_hashes

SCORED = [RendezvousHash(), LoadAware(), TopologyAware(weight=1.0), Spread(), BoundedLoad()]
WEIGHTED = [LoadAware, TopologyAware, Spread]
LEVELS = ("zone", "rack")

# Few letters, so that equal ids and keys that a "|" makes equal come up often.
IDS = st.text(alphabet="ab|é", max_size=4)
LOADS = st.none() | st.floats(0, 1) | st.floats()
PLACES = st.dictionaries(st.sampled_from(LEVELS), st.sampled_from("xy"))
TARGETS = st.builds(Target, IDS, IDS, st.integers(0, 3), topology=PLACES)
CANDIDATES = st.lists(st.builds(Candidate, IDS, IDS, st.integers(0, 3), LOADS, topology=PLACES), max_size=12)
# A gap above rounding, where scores are compared.
STEPS = st.integers(0, 64).map(lambda step: step / 64)
# Each law is tried on five policies.
few = settings(max_examples=40)
each_scored = pytest.mark.parametrize("selector", SCORED, ids=lambda selector: selector.name)
each_weighted = pytest.mark.parametrize("policy", WEIGHTED, ids=lambda policy: policy.name)


def distinct(loads: Sequence[float | None]) -> list[Candidate]:
    return [Candidate("s", f"w{number}", 0, load) for number, load in enumerate(loads)]


def places(ranked: list[Candidate]) -> list[tuple[str, str, int, str]]:
    return [(c.mx_source_id, c.worker_id, c.worker_rank, repr(known_load(c.source_load))) for c in ranked]


@each_scored
@few
@given(candidates=CANDIDATES, target=TARGETS)
def test_the_order_is_a_permutation_and_top_is_its_start(
    selector: ScoredSelector, candidates: list[Candidate], target: Target
) -> None:
    given_list = list(candidates)
    ranked = selector.order(candidates, target)
    assert sorted(map(id, ranked)) == sorted(map(id, candidates))
    assert candidates == given_list or any(c.source_load != c.source_load for c in candidates)
    for k in range(-1, len(candidates) + 2):
        assert places(selector.top(candidates, target, k)) == places(ranked[: max(0, k)])


@each_scored
@few
@given(candidates=CANDIDATES, target=TARGETS, data=st.data())
def test_the_order_of_the_list_is_no_matter(
    selector: ScoredSelector, candidates: list[Candidate], target: Target, data: st.DataObject
) -> None:
    # One process publishes one load: copies of an entry with another one are not listed by any registry.
    unique = list({(c.mx_source_id, c.worker_id, c.worker_rank): c for c in candidates}.values())
    shuffled = data.draw(st.permutations(unique))
    assert places(selector.order(shuffled, target)) == places(selector.order(unique, target))


@each_scored
@given(target=TARGETS, number=st.integers(0, 12), load=st.none() | st.just(0.0))
def test_all_idle_or_all_unknown_is_exactly_rendezvous_hashing(
    selector: ScoredSelector, target: Target, number: int, load: float | None
) -> None:
    candidates = [Candidate("s", f"w{place}", 0, load) for place in range(number)]
    assert selector.order(candidates, target) == RendezvousHash().order(candidates, target)


@each_weighted
@few
@given(candidates=CANDIDATES, target=TARGETS)
def test_a_weight_of_zero_ignores_load(
    policy: type[LoadAware | TopologyAware | Spread], candidates: list[Candidate], target: Target
) -> None:
    here = replace(target, topology={})
    nowhere = [replace(candidate, topology={}) for candidate in candidates]
    ranked = policy(weight=0.0).order(nowhere, here)
    assert places(ranked) == places(RendezvousHash().order(nowhere, here))


@pytest.mark.parametrize(
    "selector", [s for s in SCORED if s.name != "bounded_load"], ids=lambda selector: selector.name
)
@few
@given(loads=st.lists(STEPS, min_size=1, max_size=12), target=TARGETS, data=st.data())
def test_removing_a_source_keeps_the_order_of_the_others(
    selector: ScoredSelector, loads: list[float], target: Target, data: st.DataObject
) -> None:
    candidates = distinct(loads)
    gone = data.draw(st.sampled_from(candidates))
    rest = [candidate for candidate in candidates if candidate is not gone]
    assert selector.order(rest, target) == [c for c in selector.order(candidates, target) if c is not gone]


@each_scored
@few
@given(loads=st.lists(STEPS, min_size=1, max_size=12), target=TARGETS, data=st.data())
def test_a_higher_load_never_raises_a_sources_rank(
    selector: ScoredSelector, loads: list[float], target: Target, data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(loads) - 1))
    more = data.draw(STEPS.filter(lambda load: load >= loads[place]))
    before = selector.order(distinct(loads), target)
    raised = [*loads[:place], more, *loads[place + 1 :]]
    after = selector.order(distinct(raised), target)
    workers = [candidate.worker_id for candidate in before]
    assert [c.worker_id for c in after].index(f"w{place}") >= workers.index(f"w{place}")


@each_weighted
@given(
    loads=st.lists(STEPS, min_size=2, max_size=2, unique=True),
    target=TARGETS,
    weights=st.lists(st.integers(0, 80).map(lambda step: step / 8), min_size=2, max_size=2),
)
def test_a_larger_weight_never_favours_the_busier(
    policy: type[LoadAware | TopologyAware | Spread], loads: list[float], target: Target, weights: list[float]
) -> None:
    candidates = distinct(loads)
    busier = max(candidates, key=lambda candidate: candidate.source_load or 0.0)
    small, large = sorted(weights)
    if policy(weight=large).order(candidates, target)[0] is busier:
        assert policy(weight=small).order(candidates, target)[0] is busier


@pytest.mark.parametrize("weight", [1e16, 1e17, 1e300, sys.float_info.max])
@given(target=TARGETS, load=STEPS)
def test_a_huge_weight_does_not_erase_the_hash(weight: float, target: Target, load: float) -> None:
    candidates = distinct([load] * 8)
    assert LoadAware(weight=weight).order(candidates, target) == RendezvousHash().order(candidates, target)


@pytest.mark.parametrize(
    ("load", "expected"),
    [
        (None, None),
        (math.nan, None),
        (-math.inf, None),
        (math.inf, 1.0),
        (42.0, 1.0),
        (-7.0, 0.0),
        (-0.0, 0.0),
        (0.3, 0.3),
    ],
)
@each_scored
def test_every_policy_takes_an_odd_load_the_same_way(
    selector: ScoredSelector, load: float | None, expected: float | None
) -> None:
    target = Target("m", "t", 0)
    for others in ([0.0, 0.3, 0.9], [0.5, 0.5, 0.5], [1.0, 0.0, 1.0]):
        odd = selector.order(distinct([load, *others]), target)
        plain = selector.order(distinct([expected, *others]), target)
        assert [c.worker_id for c in odd] == [c.worker_id for c in plain]


@given(target=TARGETS)
def test_unknown_lies_between_idle_and_full_in_the_order(target: Target) -> None:
    loads = {"idle": 0.0, "little": 0.3, "unknown": None, "full": 0.9}
    # A weight that decides alone, so that the hash doesn't.
    listed = [Candidate("s", worker, 0, load) for worker, load in loads.items()]
    for selector in (LoadAware(weight=1e6), TopologyAware(weight=1e6), Spread(weight=1e6)):
        assert [c.worker_id for c in selector.order(listed, target)] == list(loads)


def test_unknown_as_idle_gives_the_ordering_of_the_first_revision() -> None:
    target = Target("m", "t", 0)
    listed = [Candidate("s", "unknown", 0), Candidate("s", "little", 0, 0.001)]
    assert LoadAware(weight=1e6, unknown_load=0.0).order(listed, target) == listed


@given(candidates=CANDIDATES, target=TARGETS)
def test_kept_digests_change_nothing(candidates: list[Candidate], target: Target) -> None:
    for version in (1, 2):
        kept = DigestCache(key_version=version, size=5)
        for listed in (candidates, candidates[::2], candidates[::-1], candidates + candidates):
            expected = [rendezvous_digest(c, target, key_version=version) for c in listed]
            assert kept.digests(listed, target) == expected


def test_keys_of_version_2_never_collide_where_those_of_version_1_do() -> None:
    target = Target("m", "t", 0)
    one, other = Candidate("a", "b|c", 0), Candidate("a|b", "c", 0)
    assert rendezvous_digest(one, target) == rendezvous_digest(other, target)
    assert rendezvous_digest(one, target, key_version=2) != rendezvous_digest(other, target, key_version=2)
    key = b"\0\0\0\x01m\0\0\0\x01t\0\0\0\x010\0\0\0\x01s\0\0\0\x02cw\0\0\0\x010"
    digest = int.from_bytes(blake2b(key, digest_size=8).digest(), "big")
    assert rendezvous_digest(Candidate("s", "cw", 0), target, key_version=2) == digest


def test_the_hash_stays_below_one() -> None:
    assert unit_hashes([2**64 - 1, 0, 2**63]) == [math.nextafter(1.0, 0.0), 0.0, 0.5]
    assert unit_hashes([]) == []


def test_a_seed_makes_random_orders_repeatable() -> None:
    candidates = distinct([0.0] * 8)
    target = Target("m", "t", 0)
    one, other = RandomOrder(seed=7), RandomOrder(seed=7)
    orders = [one.order(candidates, target) for _ in range(5)]
    assert [other.order(candidates, target) for _ in range(5)] == orders
    assert len({tuple(c.worker_id for c in order) for order in orders}) > 1
    assert len(RandomOrder().top(candidates, target, 3)) == 3
    assert RandomOrder().top(candidates, target, -1) == []
    assert sorted(map(id, RandomOrder().order(candidates, target))) == sorted(map(id, candidates))


@pytest.mark.parametrize("policy", WEIGHTED)
@pytest.mark.parametrize("weight", [-1, math.nan, math.inf])
def test_a_weight_that_is_none_is_refused(policy: type[LoadAware], weight: float) -> None:
    with pytest.raises(ValueError, match=r"weight=.* is not allowed: a finite number of at least 0 is"):
        policy(weight=weight)


@pytest.mark.parametrize("policy", [*WEIGHTED, BoundedLoad])
@pytest.mark.parametrize("load", [-0.1, 1.1, math.nan])
def test_an_unknown_load_out_of_range_is_refused(policy: type[LoadAware], load: float) -> None:
    with pytest.raises(ValueError, match=r"unknown_load=.* is not allowed: 0.0, idle, to 1.0, full, is"):
        policy(unknown_load=load)


@pytest.mark.parametrize("factor", [1, 2, 0, math.nan])
def test_a_bound_out_of_range_is_refused(factor: float) -> None:
    with pytest.raises(ValueError, match=r"factor=.* is not allowed: more than 1 and less than 2 is"):
        BoundedLoad(factor=factor)


@pytest.mark.parametrize("arguments", [{"key_version": 3}, {"size": -1}])
def test_a_digest_cache_out_of_range_is_refused(arguments: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="is not allowed"):
        DigestCache(**arguments)  # type: ignore[arg-type] # the point of the test
