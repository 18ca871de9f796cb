"""What an engine doesn't tell, on the wire: named, and nothing else of a report changes."""

from dataclasses import fields, replace

import pytest
from worker_bench import Bench, StartBench

from loadmonitor_proto import UNKNOWABLE_FIELDS, RankLoad
from loadmonitor_worker._report import _rank_load
from loadmonitor_worker.snapshot import RankSnapshot
from loadmonitor_worker.testing import rank


async def sent(bench: Bench) -> RankLoad:
    """The one rank of a new router's first report."""
    router = await bench.router()
    await router.register()
    (load,) = (await router.report()).ranks
    return load


@pytest.mark.clause("REPORT-7")
async def test_a_rank_names_what_its_engine_does_not_tell_in_ascending_order_and_sends_nothing_there(
    bench: Bench,
) -> None:
    bench.source.ranks = [
        replace(rank(running=3), cache_hit_rate=None, num_waiting_uncached_tokens=None, token_usage=None)
    ]
    load = await sent(bench)
    assert list(load.unknown_field_numbers) == [5, 10, 12]
    assert (load.num_waiting_uncached_tokens, load.token_usage, load.cache_hit_rate) == (0, 0, 0)
    assert load.num_used_tokens == 300


@pytest.mark.clause("REPORT-7")
@pytest.mark.parametrize(("number", "name"), UNKNOWABLE_FIELDS.items())
def test_each_field_that_may_be_unknown_is_named_alone(number: int, name: str) -> None:
    known = replace(rank(running=3), num_waiting_uncached_tokens=1, gen_throughput=2.0, cache_hit_rate=0.5)
    load = _rank_load(replace(known, **{name: None}))  # type: ignore[arg-type] # the names stand in the contract
    assert list(load.unknown_field_numbers) == [number]
    load.ClearField("unknown_field_numbers")
    expected = _rank_load(known)
    expected.ClearField(name)  # type: ignore[arg-type] # the names stand in the contract
    assert load == expected


@pytest.mark.clause("REPORT-7")
async def test_a_report_in_which_all_is_known_has_the_bytes_of_the_first_version(bench: Bench) -> None:
    snapshot = replace(rank(running=3, waiting=2), snapshot_time_unix_ms=bench.clock.unix_ms())
    bench.source.ranks = [snapshot]
    values = {field.name: getattr(snapshot, field.name) for field in fields(RankSnapshot)}
    assert (await sent(bench)).SerializeToString() == RankLoad(**values).SerializeToString()


@pytest.mark.clause("REPORT-7")
async def test_a_measured_zero_and_an_absent_extension_are_not_named(start: StartBench) -> None:
    bench = await start()
    bench.source.ranks = [replace(rank(running=0), prefill_throughput=None, utilization=-1)]
    load = await sent(bench)
    assert (load.num_used_tokens, load.token_usage, load.gen_throughput) == (0, 0, 0)
    assert list(load.unknown_field_numbers) == []
