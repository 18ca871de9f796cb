"""SyntheticSource: load as a function of the seed, the rank and the clock."""

from collections.abc import Sequence
from itertools import pairwise

import pytest

from loadmonitor_worker.errors import ConfigError
from loadmonitor_worker.snapshot import RankSnapshot
from loadmonitor_worker.sources import SyntheticSource

START_MS = 1_700_000_000_000


async def loads_over_time(seed: int, *, dp_size: int = 4, steps: int = 400) -> list[Sequence[RankSnapshot]]:
    now = [START_MS]
    source = SyntheticSource(dp_size, seed=seed, period_ms=5_000, unix_ms=lambda: now[0])
    collected = []
    for step in range(steps):
        now[0] = START_MS + 50 * step
        collected.append(await source.get_loads())
    return collected


async def test_the_same_seed_and_times_give_the_same_loads() -> None:
    assert await loads_over_time(7) == await loads_over_time(7)
    assert await loads_over_time(7) != await loads_over_time(8)


async def test_every_rank_is_stamped_with_the_clock() -> None:
    source = SyntheticSource(3, unix_ms=lambda: START_MS)
    assert [(load.dp_rank, load.snapshot_time_unix_ms) for load in await source.get_loads()] == [
        (0, START_MS),
        (1, START_MS),
        (2, START_MS),
    ]
    assert source.expected_dp_ranks() == {0, 1, 2}


async def test_loads_stay_within_their_capacity_and_move() -> None:
    for seed in range(20):
        collected = await loads_over_time(seed, steps=110)
        for load in (load for loads in collected for load in loads):
            assert load.num_used_tokens is not None
            assert load.num_total_tokens is not None
            assert load.cache_hit_rate is not None
            assert 0 <= load.num_running_reqs <= load.max_running_requests
            assert 0 <= load.num_used_tokens <= load.max_total_num_tokens
            assert load.num_total_tokens >= load.num_used_tokens
            assert load.token_usage == round(load.num_used_tokens / load.max_total_num_tokens, 4)
            assert 0 <= load.cache_hit_rate <= 1
        assert len({loads[0].num_running_reqs for loads in collected}) > 10


async def test_totals_never_fall_and_grow_by_the_rates() -> None:
    collected = await loads_over_time(3)
    for before, after in pairwise(collected):
        for old, new in zip(before, after, strict=True):
            assert old.generated_tokens_total is not None
            assert new.generated_tokens_total is not None
            assert old.gen_throughput is not None
            assert new.gen_throughput is not None
            grown = new.generated_tokens_total - old.generated_tokens_total
            assert grown == pytest.approx(0.05 * (old.gen_throughput + new.gen_throughput) / 2, abs=2)
            assert (new.prefill_uncached_tokens_total or 0) >= (old.prefill_uncached_tokens_total or 0)
            assert (new.prefill_busy_us_total or 0) >= (old.prefill_busy_us_total or 0)


@pytest.mark.parametrize("dp_size", [0, -1, True, 1.5])
def test_a_number_of_ranks_below_one_is_refused(dp_size: int) -> None:
    with pytest.raises(ConfigError, match=r"dp_size=.* is not allowed"):
        SyntheticSource(dp_size)
