"""ManagerSource: SGLang's TokenizerManager, known by its shape."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from loadmonitor_worker.errors import InvalidSnapshotError
from loadmonitor_worker.snapshot import RankSnapshot
from loadmonitor_worker.sources import ManagerSource
from loadmonitor_worker.sources._sglang_fields import snapshot_unix_ms

LOAD: dict[str, object] = {
    "timestamp": 1_700_000_000.123,
    "dp_rank": 1,
    "num_running_reqs": 2,
    "num_waiting_reqs": 3,
    "num_waiting_uncached_tokens": 4,
    "num_used_tokens": 5,
    "num_total_tokens": 6,
    "num_active_tokens": 99,
    "max_total_num_tokens": 7,
    "max_running_requests": 8,
    "token_usage": 0.1,
    "gen_throughput": 0.2,
    "cache_hit_rate": 0.3,
    "utilization": -1,
    "total_prefill_uncached_tokens": 9,
    "total_prefill_busy_us": 10,
}


@dataclass
class Manager:
    """The shape of SGLang's manager."""

    loads: Sequence[dict[str, object]] = (LOAD,)
    elastic_worker_count: int = 2
    asked: list[list[str] | None] = field(default_factory=list)

    async def get_loads(self, include: list[str] | None = None) -> list[SimpleNamespace]:
        self.asked.append(include)
        return [SimpleNamespace(**load) for load in self.loads]


async def test_every_field_of_the_managers_load_is_taken_over() -> None:
    manager = Manager()
    assert await ManagerSource(manager).get_loads() == [
        RankSnapshot(
            dp_rank=1,
            snapshot_time_unix_ms=1_700_000_000_123,
            num_running_reqs=2,
            num_waiting_reqs=3,
            num_waiting_uncached_tokens=4,
            num_used_tokens=5,
            num_total_tokens=6,
            max_total_num_tokens=7,
            max_running_requests=8,
            token_usage=0.1,
            gen_throughput=0.2,
            cache_hit_rate=0.3,
            utilization=-1,
            prefill_uncached_tokens_total=9,
            prefill_busy_us_total=10,
        )
    ]
    assert manager.asked == [["core"]]


async def test_a_rank_that_has_not_published_has_no_snapshot_time() -> None:
    (load,) = await ManagerSource(Manager([LOAD | {"timestamp": 0.0}])).get_loads()
    assert load.snapshot_time_unix_ms is None


async def test_a_snapshot_time_is_rounded_down_to_the_millisecond() -> None:
    (load,) = await ManagerSource(Manager([LOAD | {"timestamp": 1_700_000_000.9999}])).get_loads()
    assert load.snapshot_time_unix_ms == 1_700_000_000_999


@example(1_001)
@given(st.integers(1, 4_000_000_000_000))
def test_every_millisecond_survives_the_way_through_seconds(unix_ms: int) -> None:
    assert snapshot_unix_ms({"timestamp": unix_ms / 1_000}) == unix_ms


async def test_totals_that_the_manager_does_not_count_are_unknown() -> None:
    without = {key: value for key, value in LOAD.items() if not key.startswith("total_prefill")}
    (load,) = await ManagerSource(Manager([without])).get_loads()
    assert load.prefill_uncached_tokens_total is None
    assert load.prefill_busy_us_total is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("num_running_reqs", True),
        ("num_running_reqs", 1.0),
        ("num_running_reqs", None),
        ("max_total_num_tokens", "7"),
        ("total_prefill_busy_us", 1.5),
        ("token_usage", "0.1"),
        ("token_usage", False),
        ("timestamp", float("nan")),
        ("timestamp", float("inf")),
        ("timestamp", -1.0),
        ("timestamp", 10**400),
        ("timestamp", "now"),
    ],
)
async def test_a_value_of_the_wrong_type_names_its_rank_and_field(key: str, value: object) -> None:
    with pytest.raises(InvalidSnapshotError, match=f"{key} of rank 1 is ") as caught:
        await ManagerSource(Manager([LOAD | {key: value}])).get_loads()
    assert (caught.value.dp_rank, caught.value.field) == (1, key)


async def test_a_missing_core_field_is_an_error_and_not_zero() -> None:
    without = {key: value for key, value in LOAD.items() if key != "num_waiting_reqs"}
    with pytest.raises(InvalidSnapshotError, match="num_waiting_reqs of rank 1 is missing"):
        await ManagerSource(Manager([without])).get_loads()


def test_the_expected_ranks_follow_the_managers_worker_count() -> None:
    manager = Manager()
    source = ManagerSource(manager)
    assert source.expected_dp_ranks() == {0, 1}
    manager.elastic_worker_count = 4
    assert source.expected_dp_ranks() == {0, 1, 2, 3}
