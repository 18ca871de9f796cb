"""Which rank sets may be reported."""

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadmonitor_proto import UNKNOWABLE_FIELDS, RankLoad
from loadmonitor_worker import InvalidSnapshotError, RankSnapshot
from loadmonitor_worker._validate import name_ranks, validate_ranks
from loadmonitor_worker.testing import rank

INTEGERS = [
    "num_running_reqs",
    "num_waiting_reqs",
    "num_waiting_uncached_tokens",
    "num_used_tokens",
    "num_total_tokens",
    "max_total_num_tokens",
    "max_running_requests",
    "snapshot_time_unix_ms",
    "prefill_uncached_tokens_total",
    "prefill_busy_us_total",
    "generated_tokens_total",
]
FLOATS = ["token_usage", "gen_throughput", "cache_hit_rate", "utilization", "prefill_throughput"]


def refusal(*ranks: Any, expected: int = 1) -> InvalidSnapshotError:
    with pytest.raises(InvalidSnapshotError) as caught:
        validate_ranks(ranks, frozenset(range(expected)), clamp=False)
    return caught.value


def test_every_field_of_the_wire_is_a_field_of_the_snapshot_and_is_checked() -> None:
    names = {field.name for field in fields(RankSnapshot)}
    assert names == {field.name for field in RankLoad.DESCRIPTOR.fields} - {"unknown_field_numbers"}
    assert names == {"dp_rank", *INTEGERS, *FLOATS}


@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize("value", [True, -1, 2**63, 1.0, "1"])
def test_an_integer_that_the_wire_cannot_carry_is_refused_by_rank_and_field(name: str, value: Any) -> None:
    error = refusal(replace(rank(at=1), **{name: value}))
    assert (error.dp_rank, error.field) == (0, name)
    assert f"rank 0: {name}={value!r}" in str(error)


OPTIONAL = {
    *("snapshot_time_unix_ms", "prefill_throughput", "prefill_uncached_tokens_total", "prefill_busy_us_total"),
    *("generated_tokens_total", *UNKNOWABLE_FIELDS.values()),
}


@pytest.mark.parametrize("name", [*INTEGERS, *FLOATS])
def test_a_value_may_be_unknown_unless_nothing_is_known_of_a_rank_without_it(name: str) -> None:
    nothing: Any = None
    unknown = replace(rank(), **{name: nothing})
    if name in OPTIONAL:
        assert validate_ranks([unknown], frozenset({0}), clamp=False) == ([unknown], 0)
    else:
        assert refusal(unknown).field == name


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize(
    "value", [True, -0.5, float("nan"), float("inf"), float("-inf"), pytest.param(10**400, id="10**400"), "1"]
)
def test_a_ratio_that_means_nothing_is_refused_by_rank_and_field(name: str, value: Any) -> None:
    error = refusal(replace(rank(), **{name: value}))
    assert (error.dp_rank, error.field) == (0, name)


@pytest.mark.parametrize("value", [True, -1, 2**31, 0.0])
def test_a_rank_number_that_the_wire_cannot_carry_is_refused(value: int) -> None:
    assert refusal(rank(value)).field == "dp_rank"


def test_prefill_workers_may_say_that_they_do_not_compute_utilization() -> None:
    [kept], _ = validate_ranks([replace(rank(), utilization=-1)], frozenset({0}), clamp=False)
    assert kept.utilization == -1


def test_a_set_that_is_not_exactly_the_expected_one_is_refused() -> None:
    assert str(refusal(rank(0), rank(0), expected=2)) == "rank 0 appears twice"
    assert str(refusal(rank(0), rank(2), expected=2)) == "rank 2 is not one of the 2 expected ranks"
    assert str(refusal(rank(1), expected=4)) == "ranks 0, 2, 3 missing of the 4 expected ranks"
    assert str(refusal(rank(1))) == "rank 1 is not one of the one expected rank, 0"


def test_something_other_than_a_snapshot_is_refused_by_its_type() -> None:
    assert "'dict'" in str(refusal({"dp_rank": 0}))


@pytest.mark.parametrize(
    ("over", "capacity"),
    [("num_used_tokens", "max_total_num_tokens"), ("num_running_reqs", "max_running_requests")],
)
def test_a_value_above_its_capacity_is_refused_or_capped_and_counted(over: str, capacity: str) -> None:
    load = replace(rank(), **{over: 11, capacity: 10})
    error = refusal(load)
    assert error.field == over
    assert f"{over}=11 exceeds {capacity}=10" in str(error)
    [kept], clamped = validate_ranks([load], frozenset({0}), clamp=True)
    assert getattr(kept, over) == 10
    assert clamped == 1


def test_long_lists_of_ranks_are_shortened() -> None:
    assert name_ranks([3]) == "rank 3"
    assert name_ranks(list(range(20))) == "ranks 0, 1, 2, 3, 4, 5, 6, 7 and 12 more"


def snapshots() -> Iterator[st.SearchStrategy[RankSnapshot]]:
    anything = st.one_of(st.integers(), st.floats(), st.booleans(), st.none())
    yield st.builds(RankSnapshot, **{field.name: anything for field in fields(RankSnapshot)})


@given(*snapshots(), st.booleans())
def test_whatever_passes_can_be_carried_by_the_wire(load: RankSnapshot, clamp: bool) -> None:
    try:
        [kept], _ = validate_ranks([load], frozenset({0}), clamp=clamp)
    except InvalidSnapshotError:
        return
    wire = RankLoad(**{field.name: getattr(kept, field.name) for field in fields(RankSnapshot)})
    assert wire.num_used_tokens <= wire.max_total_num_tokens
    assert wire.num_running_reqs <= wire.max_running_requests
