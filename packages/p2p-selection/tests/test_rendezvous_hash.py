"""Ranking by rendezvous hash: the figures of modelexpress 0.7.0, and the laws that make it worth using."""

import subprocess
import sys
from collections import Counter
from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given
from hypothesis import strategies as st

from p2p_selection import Candidate, RendezvousHash, Target, rendezvous_digest

# (target, [(mx_source_id, worker_id, worker_rank, digest)], order): what modelexpress 0.7.0 computes.
GOLDEN = {
    "upstream's own pinned value": (("m", "t", 0), [("s", "cw", 0, 3844933907942436947)], [0]),
    "a short model name": (("m", "target-697", 6), [("7836e1e89044aa84", "38832df6", 6, 16055391231113998812)], [0]),
    "a model name with a slash": (
        ("deepseek-ai/DeepSeek-V3", "target-71", 8),
        [("daf56da89706593b", "a8f5e8e7", 8, 544601246863509350)],
        [0],
    ),
    "two, the second first": (
        ("meta-llama/Llama-3-70B", "target-286", 0),
        [
            ("ab6ce69a6c256ff4", "f879a415", 0, 4172412883521650226),
            ("69f0b71da3a337e3", "efceb2d3", 0, 10622478494877202395),
        ],
        [1, 0],
    ),
    "a separator in the model name": (
        ("a|b", "target-516", 9),
        [
            ("e5264b3621a474e5", "f6aa2a60", 9, 7491091779895054660),
            ("855591eb15d7bb75", "2402171c", 9, 484339715414659995),
        ],
        [0, 1],
    ),
    "a name beyond ASCII": (
        ("модель/ünïcode-模型", "target-825", 8),
        [
            ("493643e7322af262", "13364163", 8, 8117975534421238025),
            ("14eb5a4b6c96a773", "e9dd6ed6", 8, 3331266164094655345),
            ("52f085717e494364", "2f20dadf", 8, 2948744039611948606),
        ],
        [0, 1, 2],
    ),
    "three": (
        ("a|b", "target-350", 2),
        [
            ("dd82f5514f0433c1", "db19757e", 2, 6398202717257207856),
            ("9474599b4f6e71d8", "90974e4b", 2, 14010129800652845829),
            ("d62721a3627ae142", "826cfd9a", 2, 5817668967787234099),
        ],
        [1, 0, 2],
    ),
    "no model name": (
        ("", "target-21", 2),
        [
            ("fa361b4438fa7f52", "e88682a9", 2, 82266457068719924),
            ("6cd8b9f947b9588b", "f627ae9c", 2, 199397489117834984),
            ("af4ae71e49eae3b7", "7c066f6b", 2, 16751388301548402588),
            ("f1296e518cff67e0", "4f8d55e6", 2, 9325988977708400195),
        ],
        [2, 3, 1, 0],
    ),
    "five": (
        ("a|b", "target-925", 8),
        [
            ("2ec06ef9403c0b62", "fb242a4a", 8, 17974888265956479368),
            ("79903d6b1fa1e5df", "7b26fef8", 8, 14585828687113251342),
            ("febc7d017f7e0bd1", "050ced77", 8, 2669304893252662588),
            ("56a7e50718e41858", "7f90dd3b", 8, 945164567415510292),
            ("cc2ac4c3d8ccec65", "a986319f", 8, 6585453291386702149),
        ],
        [0, 1, 4, 2, 3],
    ),
    "eight": (
        ("m", "target-260", 0),
        [
            ("f716c18b149ebd69", "889ea2b3", 0, 15711478874988392102),
            ("5a076c3ec094dd42", "a5cc88ad", 0, 17930257523326404701),
            ("2a257d82f80e2045", "c6b798b1", 0, 9849021872962422183),
            ("201e23cdc63b091e", "e3160645", 0, 11020248265869185315),
            ("689e269c0ef303ba", "2d78917e", 0, 8328603848566889529),
            ("0bd488c2f52b3269", "c95eccb4", 0, 17292027278187898064),
            ("3ec7ba183ed43b37", "e5065cb6", 0, 17174943294308265963),
            ("bd3c0dac6f0f2e66", "8d0c2e04", 0, 15318794325724909789),
        ],
        [1, 5, 6, 0, 7, 3, 2, 4],
    ),
}

# Few letters, so that equal ids and keys that a "|" makes equal come up often.
IDS = st.text(alphabet="ab|é", max_size=4)
RANKS = st.integers(min_value=0, max_value=3)
TARGETS = st.builds(Target, IDS, IDS, RANKS)
CANDIDATES = st.builds(Candidate, IDS, IDS, RANKS, st.none() | st.floats())


def ids(candidates: list[Candidate]) -> list[tuple[str, str, int]]:
    return [(c.mx_source_id, c.worker_id, c.worker_rank) for c in candidates]


@pytest.mark.parametrize("case", GOLDEN)
def test_digest_and_order_equal_modelexpress(case: str) -> None:
    target_fields, rows, order = GOLDEN[case]
    target = Target(*target_fields)
    candidates = [Candidate(source, worker, rank) for source, worker, rank, _ in rows]
    assert [rendezvous_digest(c, target) for c in candidates] == [digest for *_, digest in rows]
    assert RendezvousHash().order(candidates, target) == [candidates[i] for i in order]


def test_no_candidates_give_an_empty_list() -> None:
    assert RendezvousHash().order([], Target("m", "t", 0)) == []


def test_the_given_list_is_left_as_it_was() -> None:
    candidates = [Candidate("s", str(i), 0) for i in range(8)]
    given_list = list(candidates)
    RendezvousHash().order(given_list, Target("m", "t", 0))
    assert given_list == candidates


def test_equal_digests_are_decided_by_the_ids_whatever_the_order_of_the_list() -> None:
    target = Target("m", "t", 0)
    one, other = Candidate("a", "b|c", 0), Candidate("a|b", "c", 0)
    assert rendezvous_digest(one, target) == rendezvous_digest(other, target) == 2602337706628382604
    assert RendezvousHash().order([one, other], target) == [one, other]
    assert RendezvousHash().order([other, one], target) == [one, other]


@given(candidates=st.lists(CANDIDATES, max_size=12), target=TARGETS, data=st.data())
def test_a_shuffled_list_is_ranked_the_same(candidates: list[Candidate], target: Target, data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(candidates))
    assert ids(RendezvousHash().order(shuffled, target)) == ids(RendezvousHash().order(candidates, target))


@given(candidates=st.lists(CANDIDATES, max_size=12), target=TARGETS)
def test_the_result_holds_exactly_what_was_given(candidates: list[Candidate], target: Target) -> None:
    ranked = RendezvousHash().order(candidates, target)
    assert sorted(map(id, ranked)) == sorted(map(id, candidates))


@given(candidates=st.lists(CANDIDATES, min_size=1, max_size=12), target=TARGETS, data=st.data())
def test_removing_a_source_keeps_the_order_of_the_rest(
    candidates: list[Candidate], target: Target, data: st.DataObject
) -> None:
    gone = data.draw(st.integers(min_value=0, max_value=len(candidates) - 1))
    before = RendezvousHash().order(candidates, target)
    after = RendezvousHash().order(candidates[:gone] + candidates[gone + 1 :], target)
    expected = [c for c in before if c is not candidates[gone]]
    assert len(after) == len(candidates) - 1
    assert ids(after) == ids(expected)


@given(candidates=st.lists(CANDIDATES, max_size=12), target=TARGETS)
def test_the_load_does_not_change_the_order(candidates: list[Candidate], target: Target) -> None:
    blind = [Candidate(c.mx_source_id, c.worker_id, c.worker_rank) for c in candidates]
    assert ids(RendezvousHash().order(candidates, target)) == ids(RendezvousHash().order(blind, target))


def test_first_choices_of_many_targets_spread_evenly_over_the_sources() -> None:
    candidates = [Candidate("5a5f555570065064", f"source-{i}", 0) for i in range(8)]
    first = Counter(
        RendezvousHash().order(candidates, Target("m", f"target-{i}", 0))[0].worker_id for i in range(4_000)
    )
    # 500 each expected; a fair draw strays by more than 100 (4.8 standard deviations) once in a million runs.
    assert all(400 <= first[c.worker_id] <= 600 for c in candidates)


def test_a_lone_surrogate_is_refused_by_name() -> None:
    with pytest.raises(UnicodeEncodeError, match="surrogates not allowed"):
        RendezvousHash().order([Candidate("s", "\ud800", 0)], Target("m", "t", 0))


def test_unknown_load_is_none_and_not_idle() -> None:
    assert Candidate("s", "w", 0).source_load is None
    assert Candidate("s", "w", 0) != Candidate("s", "w", 0, 0.0)


def test_targets_and_candidates_are_immutable_and_hashable() -> None:
    candidate = Candidate("s", "w", 0)
    with pytest.raises(FrozenInstanceError):
        candidate.source_load = 0.5  # type: ignore[misc]
    assert {candidate: Target("m", "t", 0)}[Candidate("s", "w", 0)] == Target("m", "t", 0)


def test_the_policy_is_named_as_in_configuration() -> None:
    assert RendezvousHash().name == "rendezvous_hash"


def test_import_loads_nothing_but_the_standard_library() -> None:
    script = (
        "import sys; before = set(sys.modules); import p2p_selection; "
        "print(*sorted({m.partition('.')[0] for m in set(sys.modules) - before} - {'p2p_selection'}))"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert set(done.stdout.split()) <= sys.stdlib_module_names
