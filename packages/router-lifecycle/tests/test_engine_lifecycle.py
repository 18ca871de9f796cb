"""An engine's processes and its registration around them, against the fake router; each rule has its test."""

import asyncio

import pytest
from publication_bench import Fleet

from router_lifecycle import OperationTimeout, Phase, RegistrationFailed, RemovalUnresolved, SubmissionUnknown
from router_lifecycle.publication import (
    EngineGeneration,
    EngineRecord,
    EngineStateError,
    EngineStopError,
    UnresolvedRemovals,
    URLUnresolvedError,
)
from router_lifecycle.testing import Health, lose_answer, server_error


async def started(bench: Fleet, *, registered: bool = True) -> EngineGeneration:
    generation = await bench.run(bench.engines[0].start())
    if registered:
        await bench.run(bench.engines[0].register(generation))
    return generation


async def test_starting_registers_nothing_and_registering_is_confirmed() -> None:
    bench = Fleet(engines=1)
    engine = bench.engines[0]
    generation = await bench.run(engine.start())
    assert await engine.is_alive()
    assert bench.router.requests == []
    worker = await bench.run(engine.register(generation))
    assert worker.is_routable
    assert bench.routable == {engine.url}


async def test_an_unknown_submission_blocks_a_second_one_until_the_generation_is_replaced() -> None:
    bench = Fleet(engines=1)
    engine = bench.engines[0]
    generation = await started(bench, registered=False)
    bench.router.faults.add(lose_answer(), method="POST")
    for _ in range(3):
        with pytest.raises(SubmissionUnknown):
            await bench.run(engine.register(generation))
    assert bench.posts == 1
    await bench.run(engine.stop())
    assert bench.routable == set()
    replacement = await bench.run(engine.start())
    assert replacement != generation
    await bench.run(engine.register(replacement))
    assert bench.posts == 2


async def test_a_time_out_is_waited_on_without_a_second_submission() -> None:
    bench = Fleet(engines=1)
    bench.bench.engines[0].becomes(Health.LOADING, 0.0)
    generation = await started(bench, registered=False)
    with pytest.raises(OperationTimeout):
        await bench.run(bench.engines[0].register(generation, timeout_seconds=5.0))
    bench.bench.engines[0].becomes(Health.HEALTHY, bench.clock())
    await bench.run(bench.engines[0].register(generation))
    assert bench.posts == 1


async def test_a_failed_registration_is_not_submitted_again() -> None:
    bench = Fleet(engines=1)
    bench.bench.engines[0].becomes(Health.LOADING, 0.0)
    generation = await started(bench, registered=False)
    for _ in range(2):
        with pytest.raises(RegistrationFailed):
            await bench.run(bench.engines[0].register(generation, timeout_seconds=3_000.0))
    assert bench.posts == 1


async def test_stopping_deregisters_before_the_processes_end() -> None:
    bench = Fleet(engines=1)
    await started(bench)
    launcher = bench.launchers[0]
    seen: list[set[str]] = []
    stop = launcher.stop

    async def look_and_stop(generation: EngineGeneration, *, force: bool) -> None:
        seen.append(bench.routable)
        await stop(generation, force=force)

    launcher.stop = look_and_stop  # type: ignore[method-assign]
    report = await bench.run(bench.engines[0].stop())
    assert seen == [set()]
    assert report is not None
    assert report.deregistration_error is None
    assert bench.unresolved.urls == frozenset()


async def test_a_router_that_is_down_holds_up_no_stop_and_its_url_is_not_reused() -> None:
    bench = Fleet(engines=1)
    await started(bench)
    url = bench.engines[0].url
    bench.router.stop()
    began = bench.clock()
    report = await bench.run(bench.engines[0].stop())
    assert bench.clock() - began <= 10.0
    assert report is not None
    assert isinstance(report.deregistration_error, RemovalUnresolved)
    assert bench.launchers[0].running == {}
    assert bench.unresolved.urls == {url}
    await bench.run(bench.engines[0].start())
    assert bench.engines[0].url == bench.urls[0][1] != url


async def test_a_router_that_never_answers_holds_up_a_stop_for_its_small_limit_only() -> None:
    bench = Fleet(engines=1)
    await started(bench)
    bench.router.faults.add(lose_answer(1_000.0), times=100)
    began = bench.clock()
    report = await bench.run(bench.engines[0].stop())
    assert bench.clock() - began == pytest.approx(10.0, abs=1.0)
    assert report is not None
    assert report.deregistration_error is not None
    assert bench.launchers[0].running == {}


@pytest.mark.parametrize("fault", ["stops_raise", "stops_hang"])
async def test_deregistration_runs_and_the_process_ends_when_the_engines_own_stop_fails(fault: str) -> None:
    bench = Fleet(engines=1, nodes=2)
    await started(bench)
    setattr(bench.launchers[0], fault, True)
    report = await bench.run(bench.engines[0].stop())
    assert report is not None
    assert report.stop_error is not None
    assert bench.launchers[0].calls == ["start", "stop", "kill"]
    assert bench.launchers[0].running == {}
    assert bench.routable == set()


async def test_an_engine_that_cannot_be_killed_is_reported_and_not_started_over() -> None:
    bench = Fleet(engines=1)
    await started(bench)
    bench.launchers[0].is_immortal = True
    with pytest.raises(EngineStopError, match="by hand"):
        await bench.run(bench.engines[0].stop())
    assert bench.routable == set()
    with pytest.raises(EngineStateError, match="stop it first"):
        await bench.run(bench.engines[0].start())
    bench.launchers[0].is_immortal = False
    assert await bench.run(bench.engines[0].stop()) is not None


async def test_a_cancelled_stop_stops_all_the_same() -> None:
    bench = Fleet(engines=1)
    await started(bench)
    stopping = asyncio.create_task(bench.engines[0].stop())
    await bench.bench.until_asked("DELETE")
    stopping.cancel()
    with pytest.raises(asyncio.CancelledError):
        await stopping
    await bench.bench.pass_time(30.0)
    assert bench.launchers[0].running == {}
    assert bench.engines[0].record is None


async def test_two_stops_at_once_are_one() -> None:
    bench = Fleet(engines=1)
    await started(bench)
    one, two = await bench.run(asyncio.gather(bench.engines[0].stop(), bench.engines[0].stop()))
    assert one == two
    assert bench.launchers[0].calls == ["start", "stop"]
    assert await bench.engines[0].stop() is None


async def test_a_stop_cuts_a_registration_short_and_removes_what_it_submitted() -> None:
    bench = Fleet(engines=1)
    bench.bench.engines[0].becomes(Health.LOADING, 0.0)
    generation = await started(bench, registered=False)
    registering = asyncio.create_task(bench.engines[0].register(generation))
    await bench.bench.pass_time(3.0)
    await bench.run(bench.engines[0].stop())
    with pytest.raises(EngineStateError, match="while it was being registered"):
        await registering
    # The router goes on activating it: its URL stays out of use.
    assert bench.unresolved.urls == {bench.urls[0][0]}


async def test_a_cancelled_registration_is_a_cancellation_and_its_outcome_unknown() -> None:
    bench = Fleet(engines=1)
    generation = await started(bench, registered=False)
    registering = asyncio.create_task(bench.engines[0].register(generation))
    await bench.bench.until_asked("POST")
    registering.cancel()
    with pytest.raises(asyncio.CancelledError):
        await registering
    with pytest.raises(SubmissionUnknown):
        await bench.run(bench.engines[0].register(generation))
    assert bench.posts == 1


async def test_what_a_failed_start_leaves_behind_is_stopped_on_all_nodes() -> None:
    bench = Fleet(engines=1, nodes=2)
    bench.launchers[0].starts_raise = True
    with pytest.raises(RuntimeError, match="node 1"):
        await bench.run(bench.engines[0].start())
    assert bench.launchers[0].running == {}
    assert bench.router.requests == []
    assert bench.engines[0].record is None


async def test_a_cancelled_start_is_stopped() -> None:
    bench = Fleet(engines=1)
    bench.launchers[0].may_start.clear()
    starting = asyncio.create_task(bench.engines[0].start())
    await bench.launchers[0].starting.wait()
    with pytest.raises(EngineStateError, match="being started"):
        await bench.engines[0].stop()
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert bench.launchers[0].running == {}


async def test_a_launcher_that_reuses_an_unresolved_url_is_stopped() -> None:
    bench = Fleet(engines=1)
    await started(bench)
    bench.router.stop()
    await bench.run(bench.engines[0].stop())
    bench.launchers[0].is_obedient = False
    with pytest.raises(URLUnresolvedError, match="avoid_urls"):
        await bench.run(bench.engines[0].start())
    assert bench.launchers[0].running == {}


async def test_a_resolved_url_may_be_used_again() -> None:
    bench = Fleet(engines=1)
    await started(bench)
    bench.router.faults.add(server_error(), times=200)
    await bench.run(bench.engines[0].stop())
    assert len(await bench.run(bench.unresolved.resolve(bench.client, timeout_seconds=5.0))) == 1
    bench.router.faults.clear()
    kept = UnresolvedRemovals.model_validate_json(bench.unresolved.model_dump_json())
    assert kept.urls == {bench.urls[0][0]}
    assert await bench.run(kept.resolve(bench.client)) == []
    assert kept.urls == frozenset()
    assert bench.routable == set()


async def test_a_deregistered_engine_runs_on_and_registers_again_with_a_submission_of_its_own() -> None:
    bench = Fleet(engines=1)
    generation = await started(bench)
    assert await bench.run(bench.engines[0].deregister()) is None
    assert bench.routable == set()
    assert await bench.engines[0].is_alive()
    await bench.run(bench.engines[0].register(generation))
    assert bench.posts == 2
    assert bench.routable == {bench.urls[0][0]}


async def test_an_engine_whose_removal_is_not_confirmed_is_not_registered_again() -> None:
    bench = Fleet(engines=1)
    generation = await started(bench)
    bench.router.faults.add(server_error(), times=200)
    assert await bench.run(bench.engines[0].deregister()) is not None
    bench.router.faults.clear()
    with pytest.raises(EngineStateError, match="isn't confirmed"):
        await bench.run(bench.engines[0].register(generation))


async def test_an_old_generation_is_not_registered() -> None:
    bench = Fleet(engines=1)
    old = await started(bench)
    await bench.run(bench.engines[0].stop())
    await bench.run(bench.engines[0].start())
    with pytest.raises(EngineStateError, match="can't be registered"):
        await bench.run(bench.engines[0].register(old))
    assert bench.posts == 1


async def test_another_driver_goes_on_with_the_record_of_an_engine() -> None:
    bench = Fleet(engines=1)
    generation = await started(bench)
    assert bench.engines[0].record is not None
    kept = EngineRecord.model_validate_json(bench.engines[0].record.model_dump_json())
    later = bench.engine(0, "actor", UnresolvedRemovals(), kept)
    assert later.generation == generation
    assert await later.is_alive()
    assert kept.handle is not None
    assert kept.handle.phase is Phase.ACTIVE
    await bench.run(later.stop())
    assert bench.routable == set()
    assert bench.launchers[0].running == {}


@pytest.mark.parametrize("version", ["0.2.0", "0.2.2", "0.2.4", "0.3.0", "0.3.2", "smg-1.13.0"])
async def test_an_engine_comes_and_goes_on_every_router(version: str) -> None:
    bench = Fleet(engines=1, version=version)
    await started(bench)
    assert bench.routable == {bench.urls[0][0]}
    report = await bench.run(bench.engines[0].stop())
    assert report is not None
    assert report.deregistration_error is None
    assert bench.routable == set()


def test_bounds_of_nothing_are_refused() -> None:
    bench = Fleet(engines=1)
    from router_lifecycle.publication import EngineLifecycle

    with pytest.raises(ValueError, match="more than 0"):
        EngineLifecycle(
            "e", "actor", bench.launchers[0], bench.client, bench.unresolved, deregistration_timeout_seconds=0.0
        )
