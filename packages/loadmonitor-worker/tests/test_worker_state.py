"""The engine's state on its way to routers, and waiting for an engine that they leave alone."""

import asyncio
from typing import Any

import pytest
from worker_bench import Bench, StartBench

import loadmonitor_proto as wire
from loadmonitor_worker import ConfigError, IdleOutcome, WorkerState
from loadmonitor_worker.testing import rank, settle

IDLE = [rank(running=0)]
BUSY = [rank(running=2, waiting=1)]


@pytest.mark.clause("STATE-1")
async def test_no_report_tells_a_state_until_one_was_set(bench: Bench) -> None:
    router = await bench.router()
    await router.register()
    assert not (await router.report()).HasField("worker_state")
    assert bench.reporter.worker_state is None


@pytest.mark.clause("STATE-1")
@pytest.mark.parametrize("state", WorkerState)
async def test_a_state_set_before_the_first_report_is_in_it_and_in_every_later_one(
    bench: Bench, state: WorkerState
) -> None:
    bench.reporter.set_worker_state(state)
    router = await bench.router()
    await router.register()
    first = await router.report()
    await bench.clock.advance(1_000)
    expected = wire.WorkerState.Value(f"WORKER_STATE_{state.name}")
    assert [first.worker_state, (await router.report()).worker_state] == [expected, expected]
    assert bench.reporter.worker_state is state


async def test_a_state_may_be_given_as_text_and_an_unknown_one_is_refused_by_name(bench: Bench) -> None:
    bench.reporter.set_worker_state("paused")  # type: ignore[arg-type]
    assert bench.reporter.worker_state is WorkerState.PAUSED
    with pytest.raises(ConfigError, match="'asleep' is not allowed: one of loading, serving, draining, paused"):
        bench.reporter.set_worker_state("asleep")  # type: ignore[arg-type]
    assert bench.reporter.worker_state is WorkerState.PAUSED


@pytest.mark.clause("STATE-2")
async def test_a_changed_state_is_reported_at_once_to_all_and_the_deadlines_stay(bench: Bench) -> None:
    slow = await bench.registered("slow", interval_ms=60_000, lease_ms=200_000)
    fast = await bench.registered("fast", interval_ms=1_000, lease_ms=200_000)
    await bench.clock.advance(300)
    bench.reporter.set_worker_state(WorkerState.DRAINING)
    await bench.clock.advance(0)
    for router in (slow, fast):
        assert (await router.report()).worker_state == wire.WorkerState.WORKER_STATE_DRAINING
    pulls = bench.source.pulls
    await bench.clock.advance(699)
    assert bench.source.pulls == pulls
    await bench.clock.advance(1)
    assert (await fast.report()).sequence_id > 0
    assert not bench.report_waits("slow")


@pytest.mark.clause("STATE-2")
async def test_the_same_state_again_reads_and_reports_nothing(bench: Bench) -> None:
    bench.reporter.set_worker_state(WorkerState.SERVING)
    await bench.registered()
    pulls = bench.source.pulls
    bench.reporter.set_worker_state(WorkerState.SERVING)
    await bench.clock.advance(10)
    assert bench.source.pulls == pulls


@pytest.mark.clause("STATE-2")
async def test_a_state_that_changes_during_a_read_is_in_its_report(bench: Bench) -> None:
    router = await bench.registered()
    bench.source.gate.clear()
    await bench.clock.advance(1_000)
    bench.reporter.set_worker_state(WorkerState.PAUSED)
    bench.source.gate.set()
    await bench.clock.advance(0)
    assert (await router.report()).worker_state == wire.WorkerState.WORKER_STATE_PAUSED
    pulls = bench.source.pulls
    await bench.clock.advance(999)
    assert bench.source.pulls == pulls


@pytest.mark.clause("STATE-2")
async def test_a_session_without_credit_is_told_the_state_at_its_next_deadline(bench: Bench) -> None:
    router = await bench.registered(window=1)
    bench.reporter.set_worker_state(WorkerState.DRAINING)
    await bench.clock.advance(0)
    await bench.acknowledge(router, 1)
    await bench.clock.advance(999)
    assert not bench.report_waits()
    await bench.clock.advance(1)
    assert (await router.report()).worker_state == wire.WorkerState.WORKER_STATE_DRAINING


async def wait(bench: Bench, limit: float = 30.0) -> "asyncio.Task[IdleOutcome]":
    waiting = asyncio.create_task(bench.reporter.wait_until_idle(limit))
    await settle()
    return waiting


async def test_an_idle_engine_is_waited_for_a_second(bench: Bench) -> None:
    bench.source.ranks = IDLE
    waiting = await wait(bench)
    await bench.clock.advance(999)
    assert not waiting.done()
    await bench.clock.advance(1)
    assert await waiting == IdleOutcome(idle=True, reason=None)
    await bench.clock.advance(0)
    assert bench.clock.pending == []


async def test_work_starts_the_second_anew(bench: Bench) -> None:
    bench.source.ranks = IDLE
    waiting = await wait(bench)
    await bench.clock.advance(900)
    bench.source.ranks = [rank(running=0, waiting=1)]
    await bench.clock.advance(200)
    bench.source.ranks = IDLE
    await bench.clock.advance(1_000)
    assert not waiting.done()
    await bench.clock.advance(200)
    assert (await waiting).idle


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        ({"ranks": BUSY}, "2 running, 1 waiting"),
        ({"error": RuntimeError("gone")}, "the engine's load isn't known: the source failed with RuntimeError: gone"),
        ({"ranks": IDLE, "stamp_ms": 1}, "idle when last seen, which was before the routers were told"),
        ({"ranks": []}, "the engine's load isn't known:"),
    ],
)
async def test_at_the_limit_it_says_what_was_in_the_way(bench: Bench, outcome: dict[str, Any], reason: str) -> None:
    for name, value in outcome.items():
        setattr(bench.source, name, value)
    waiting = await wait(bench, 2.5)
    await bench.clock.advance(2_499)
    assert not waiting.done()
    await bench.clock.advance(1)
    result = await waiting
    assert not result.idle
    assert result.reason is not None
    assert result.reason.startswith(reason)


async def test_numbers_from_before_the_routers_were_told_prove_nothing(bench: Bench) -> None:
    bench.source.ranks = IDLE
    bench.source.stamp_ms = bench.clock.unix_ms() - 100
    bench.reporter.set_worker_state(WorkerState.DRAINING)
    waiting = await wait(bench, 2.8)
    await bench.clock.advance(2_800)
    result = await waiting
    assert result == IdleOutcome(idle=False, reason="idle when last seen, which was before the routers were told")


async def test_a_router_that_has_not_acknowledged_the_state_is_waited_for_by_name(bench: Bench) -> None:
    bench.source.ranks = IDLE
    router = await bench.registered(window=1)
    await bench.acknowledge(router, 1)
    bench.reporter.set_worker_state(WorkerState.DRAINING)
    early = await wait(bench, 3.0)
    later = await wait(bench, 30.0)
    await bench.clock.advance(0)
    told = await router.report()
    assert told.worker_state == wire.WorkerState.WORKER_STATE_DRAINING
    await bench.clock.advance(3_000)
    assert await early == IdleOutcome(idle=False, reason="router 'r' may not know the state yet")
    await bench.acknowledge(router, told.sequence_id)
    await bench.clock.advance(1_400)
    assert (await later).idle


async def test_a_router_that_does_not_acknowledge_is_told_when_its_report_was_sent(bench: Bench) -> None:
    bench.source.ranks = IDLE
    router = await bench.registered(interval_ms=60_000, lease_ms=200_000)
    bench.reporter.set_worker_state(WorkerState.PAUSED)
    waiting = await wait(bench)
    await bench.clock.advance(0)
    assert (await router.report()).worker_state == wire.WorkerState.WORKER_STATE_PAUSED
    await bench.clock.advance(1_400)
    assert (await waiting).idle


async def test_who_stops_waiting_leaves_no_reads_behind(bench: Bench) -> None:
    waiting = await wait(bench)
    waiting.cancel()
    await settle()
    pulls = bench.source.pulls
    await bench.clock.advance(5_000)
    assert bench.source.pulls <= pulls + 1
    assert bench.clock.pending == []


@pytest.mark.clause("STATE-4")
async def test_drain_tells_draining_waits_for_the_work_and_says_goodbye(bench: Bench) -> None:
    bench.source.ranks = BUSY
    router = await bench.registered(window=1)
    await bench.acknowledge(router, 1)
    draining = asyncio.create_task(bench.reporter.drain(60))
    await bench.clock.advance(0)
    told = await router.report()
    assert told.worker_state == wire.WorkerState.WORKER_STATE_DRAINING
    await bench.acknowledge(router, told.sequence_id)
    bench.source.ranks = IDLE
    await bench.clock.advance(800)
    assert not draining.done()
    await bench.clock.advance(600)
    assert (await draining).idle
    error = await router.ended()
    assert error is not None
    assert error.code == "SHUTTING_DOWN"


@pytest.mark.clause("STATE-4")
async def test_drain_closes_at_its_limit_and_says_what_still_ran(bench: Bench) -> None:
    bench.source.ranks = BUSY
    router = await bench.registered()
    draining = asyncio.create_task(bench.reporter.drain(1.5))
    await bench.clock.advance(1_500)
    assert await draining == IdleOutcome(idle=False, reason="2 running, 1 waiting")
    error = await router.ended()
    assert error is not None
    assert error.code == "SHUTTING_DOWN"


async def test_closing_ends_a_drain_at_once(bench: Bench) -> None:
    bench.source.ranks = BUSY
    draining = asyncio.create_task(bench.reporter.drain(3_600))
    await settle()
    await bench.reporter.close()
    assert await draining == IdleOutcome(idle=False, reason="the reporter was closed")
    assert await bench.reporter.wait_until_idle(1) == IdleOutcome(idle=False, reason="the reporter is closed")
    assert bench.clock.pending == []


@pytest.mark.parametrize("limit", [-1, float("nan"), float("inf")])
async def test_a_limit_that_is_none_is_refused_before_anything_is_told(start: StartBench, limit: float) -> None:
    bench = await start()
    for ask in (bench.reporter.drain, bench.reporter.wait_until_idle):
        with pytest.raises(ConfigError, match="timeout_seconds"):
            await ask(limit)
    assert bench.reporter.worker_state is None
