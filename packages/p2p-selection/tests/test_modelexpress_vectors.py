"""Orders that modelexpress 0.7.0 gave to lists of candidates, and where ours differ on purpose.

Each row of the data holds a policy, its weight, the target, the candidates with their load as float32 and their digest, and the
order of its own selector as places in the list.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from p2p_selection import (
    Candidate,
    LoadAware,
    RendezvousHash,
    ScoredSelector,
    Target,
    TopologyAware,
    rendezvous_digest,
)

VECTORS: list[dict[str, Any]] = json.loads((Path(__file__).parent / "data/modelexpress_0_7_0.json").read_text())
NOT_A_NUMBER = ("nan", "-inf")


def candidates(vector: dict[str, Any]) -> list[Candidate]:
    return [
        Candidate(source, worker, rank, None if load is None else float(load), *topology)
        for source, worker, rank, load, _, *topology in vector["candidates"]
    ]


def target(vector: dict[str, Any]) -> Target:
    model_name, worker_id, worker_rank = vector["target"]
    return Target(model_name, worker_id, worker_rank, topology=vector.get("here", {}))


def selector(vector: dict[str, Any]) -> ScoredSelector:
    match vector["policy"]:
        case "rendezvous_hash":
            return RendezvousHash()
        case "load_aware":
            return LoadAware(weight=vector["weight"])
        case _:
            # modelexpress takes an unknown load for idle in this policy.
            return TopologyAware(weight=vector["weight"], unknown_load=0.0, levels=vector["levels"])


def invalid(vector: dict[str, Any]) -> bool:
    return any(load in NOT_A_NUMBER for *_, load, _ in (row[:5] for row in vector["candidates"]))


SAME = [vector for vector in VECTORS if not invalid(vector) and not vector.get("ties")]


def test_there_are_vectors_of_every_compatible_policy() -> None:
    policies = [vector["policy"] for vector in SAME]
    assert {policy: policies.count(policy) for policy in sorted(set(policies))} == {
        "load_aware": 68,
        "rendezvous_hash": 25,
        "topology_aware": 12,
    }


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["policy"])
def test_every_digest_is_that_of_modelexpress(vector: dict[str, Any]) -> None:
    digests = [rendezvous_digest(candidate, target(vector)) for candidate in candidates(vector)]
    assert digests == [int(row[4]) for row in vector["candidates"]]


@pytest.mark.parametrize("vector", SAME, ids=lambda vector: vector["policy"])
def test_the_order_is_that_of_modelexpress(vector: dict[str, Any]) -> None:
    listed = candidates(vector)
    ranked = selector(vector).order(listed, target(vector))
    assert [listed.index(candidate) for candidate in ranked] == vector["order"]


@pytest.mark.parametrize("vector", [v for v in VECTORS if v.get("ties")], ids=lambda vector: vector["policy"])
def test_where_modelexpress_keeps_the_order_of_the_list_ours_does_not_depend_on_it(vector: dict[str, Any]) -> None:
    listed = candidates(vector)
    one = selector(vector).order(listed, target(vector))
    assert selector(vector).order(listed[::-1], target(vector)) == one


@pytest.mark.parametrize("vector", [v for v in VECTORS if invalid(v)], ids=lambda vector: vector["policy"])
def test_a_load_that_is_no_number_counts_as_unknown_where_modelexpress_takes_it_for_idle(
    vector: dict[str, Any],
) -> None:
    listed = candidates(vector)
    unknown = [
        Candidate(c.mx_source_id, c.worker_id, c.worker_rank, None if row[3] in NOT_A_NUMBER else c.source_load)
        for c, row in zip(listed, vector["candidates"], strict=True)
    ]
    ranked = selector(vector).order(listed, target(vector))
    expected = selector(vector).order(unknown, target(vector))
    assert [(c.mx_source_id, c.worker_id) for c in ranked] == [(c.mx_source_id, c.worker_id) for c in expected]
