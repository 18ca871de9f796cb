"""A gate with its engines, against the fake router: what a trainer sees around its transfers."""

import asyncio

import pytest
from publication_bench import Fleet

from router_lifecycle import (
    OperationTimeout,
    RegistrationFailed,
    RegistrationLost,
    SubmissionRejected,
    SubmissionUnknown,
)
from router_lifecycle.publication import (
    EngineGeneration,
    EngineRecord,
    EngineState,
    EngineStateError,
    EngineStopError,
    GateError,
    PublicationGate,
    UnresolvedRemovals,
    WeightSnapshot,
)
from router_lifecycle.testing import Fault, Health, lose_answer, server_error


async def idle(url: str) -> int | None:
    assert url.startswith("http://")
    return 0


def generation_of(bench: Fleet, place: int) -> EngineGeneration:
    generation = bench.engines[place].generation
    assert generation is not None
    return generation


async def test_initial_engines_and_frozen_ones_are_routable_when_they_have_started() -> None:
    bench = Fleet(engines=2, models=("actor", "reference"))
    for engine in ("e0", "e1"):
        report = await bench.run(bench.fleet.start(engine))
        assert len(report.registered) == 1
    assert bench.routable == {urls[0] for urls in bench.urls}
    await bench.run(bench.fleet.recover("e1"))
    assert bench.routable == {urls[0] for urls in bench.urls}


async def test_a_recovered_engine_is_never_routable_before_a_successful_transfer_that_included_it() -> None:
    bench = Fleet()
    fleet = await bench.started()
    await bench.run(fleet.recover("e0"))
    recovered = generation_of(bench, 0)
    await bench.bench.pass_time(60.0)
    assert bench.routable == {bench.urls[1][0]}
    # A transfer that fails: nobody calls publish.
    fleet.gate.snapshot("actor")
    await bench.bench.pass_time(60.0)
    assert bench.routable == {bench.urls[1][0]}
    report = await bench.run(fleet.publish(fleet.gate.snapshot("actor"), 2))
    assert report.registered == [recovered]
    assert bench.routable == {bench.urls[0][0], bench.urls[1][0]}
    assert bench.versions.current("actor") == 2


async def test_a_replacement_after_the_snapshot_waits_for_the_next_publication() -> None:
    bench = Fleet()
    fleet = await bench.started()
    snapshot = fleet.gate.snapshot("actor")
    await bench.run(fleet.recover("e0"))
    report = await bench.run(fleet.publish(snapshot, 2))
    assert report.registered == []
    assert bench.routable == {bench.urls[1][0]}
    report = await bench.run(fleet.publish(fleet.gate.snapshot("actor"), 3))
    assert report.registered == [generation_of(bench, 0)]


async def test_a_new_engine_during_a_first_transfer_waits_too() -> None:
    bench = Fleet()
    await bench.run(bench.fleet.start("e0"))
    snapshot = bench.gate.snapshot("actor")
    await bench.run(bench.fleet.start("e1"))
    await bench.run(bench.fleet.publish(snapshot, 1))
    assert bench.routable == {bench.urls[0][0]}


async def test_an_engine_that_is_replaced_while_it_is_registered_leaves_its_successor_waiting() -> None:
    bench = Fleet(engines=1)
    fleet = await bench.started()
    await bench.run(fleet.recover("e0"))
    old = generation_of(bench, 0)
    bench.bench.engines[0].becomes(Health.LOADING, bench.clock())
    publishing = asyncio.create_task(fleet.publish(fleet.gate.snapshot("actor"), 2))
    await bench.bench.pass_time(2.0)
    await bench.run(fleet.recover("e0"))
    report = await bench.run(publishing)
    assert list(report.pending) == [old]
    new = generation_of(bench, 0)
    assert new != old
    assert fleet.gate.state_of(new) is EngineState.PENDING
    assert bench.engines[0].url == bench.urls[0][1]


async def test_an_unknown_registration_quarantines_the_whole_engine_once_and_no_other() -> None:
    bench = Fleet(engines=3, nodes=2)
    fleet = await bench.started()
    for engine in ("e0", "e1"):
        await bench.run(fleet.recover(engine))
    bad, good = generation_of(bench, 0), generation_of(bench, 1)

    def only_e0(method: str, path: str) -> Fault | None:
        is_first = method == "POST" and not lost
        if is_first:
            lost.append(path)
        return lose_answer() if is_first else None

    lost: list[str] = []
    bench.router.faults.take = only_e0  # type: ignore[method-assign]
    report = await bench.run(fleet.publish(fleet.gate.snapshot("actor"), 2))
    assert isinstance(report.quarantined[bad], SubmissionUnknown)
    assert report.registered == [good]
    assert bench.launchers[0].running == {}
    assert bench.launchers[0].calls.count("stop") == 2  # by the recovery, and by the quarantine
    assert bench.launchers[2].calls == ["start"]
    assert fleet.gate.state_of(bad) is EngineState.QUARANTINED
    posts = bench.posts
    report = await bench.run(fleet.publish(fleet.gate.snapshot("actor"), 3))
    assert (report.registered, report.quarantined, bench.posts) == ([], {}, posts)
    assert bench.routable == {bench.urls[1][0], bench.urls[2][0]}


async def test_a_failed_registration_quarantines_and_recovery_brings_a_new_generation() -> None:
    bench = Fleet(engines=1)
    fleet = await bench.started()
    await bench.run(fleet.recover("e0"))
    bad = generation_of(bench, 0)
    bench.bench.engines[0].becomes(Health.LOADING, bench.clock())
    later = bench.gated(fleet.gate, bench.engines, timeout=3_000.0)
    report = await bench.run(later.publish(fleet.gate.snapshot("actor"), 2))
    assert isinstance(report.quarantined[bad], RegistrationFailed)
    assert bench.launchers[0].running == {}
    bench.bench.engines[0].becomes(Health.HEALTHY, bench.clock())
    await bench.run(fleet.recover("e0"))
    report = await bench.run(fleet.publish(fleet.gate.snapshot("actor"), 3))
    assert report.registered == [generation_of(bench, 0)]


async def test_a_time_out_leaves_an_engine_pending_and_the_next_publication_goes_on_with_it() -> None:
    bench = Fleet()
    fleet = await bench.started()
    await bench.run(fleet.recover("e0"))
    slow = generation_of(bench, 0)
    bench.bench.engines[0].becomes(Health.LOADING, bench.clock())
    hasty = bench.gated(fleet.gate, bench.engines, timeout=10.0)
    posts = bench.posts
    report = await bench.run(hasty.publish(fleet.gate.snapshot("actor"), 2))
    assert isinstance(report.pending[slow], OperationTimeout)
    assert fleet.gate.state_of(slow) is EngineState.PENDING
    assert bench.launchers[0].calls.count("stop") == 1  # by the recovery alone
    bench.bench.engines[0].becomes(Health.HEALTHY, bench.clock())
    report = await bench.run(fleet.publish(fleet.gate.snapshot("actor"), 3))
    assert report.registered == [slow]
    assert bench.posts == posts + 1


async def test_a_rejected_registration_stays_pending_and_training_goes_on() -> None:
    bench = Fleet(engines=1)
    fleet = await bench.started()
    await bench.run(fleet.recover("e0"))
    bench.router.faults.add(Fault(status=400, body=b"{}"), method="POST")
    report = await bench.run(fleet.publish(fleet.gate.snapshot("actor"), 2))
    assert isinstance(report.pending[generation_of(bench, 0)], SubmissionRejected)
    report = await bench.run(fleet.publish(fleet.gate.snapshot("actor"), 3))
    assert report.registered == [generation_of(bench, 0)]


async def test_a_registration_that_the_router_lost_is_submitted_again_by_the_next_publication() -> None:
    bench = Fleet(engines=1)
    fleet = await bench.started()
    await bench.run(fleet.recover("e0"))
    generation = generation_of(bench, 0)
    bench.bench.engines[0].becomes(Health.LOADING, bench.clock())
    publishing = asyncio.create_task(fleet.publish(fleet.gate.snapshot("actor"), 2))
    await bench.bench.pass_time(3.0)
    bench.router.restart()
    report = await bench.run(publishing)
    assert isinstance(report.pending[generation], RegistrationLost), report
    bench.bench.engines[0].becomes(Health.HEALTHY, bench.clock())
    report = await bench.run(fleet.publish(fleet.gate.snapshot("actor"), 3))
    assert report.registered == [generation]


async def test_an_engine_that_cannot_be_stopped_is_named_and_holds_up_no_other() -> None:
    bench = Fleet()
    fleet = await bench.started()
    for engine in ("e0", "e1"):
        await bench.run(fleet.recover(engine))
    bench.launchers[0].is_immortal = bench.launchers[1].is_immortal = True
    bench.router.faults.add(lose_answer(), method="POST")
    report = await bench.run(fleet.publish(fleet.gate.snapshot("actor"), 2))
    assert [type(error) for error in report.quarantined.values()] == [EngineStopError]
    assert len(report.registered) == 1


async def test_a_cancelled_publication_leaves_what_it_registers_pending() -> None:
    bench = Fleet(engines=1)
    fleet = await bench.started()
    await bench.run(fleet.recover("e0"))
    publishing = asyncio.create_task(fleet.publish(fleet.gate.snapshot("actor"), 2))
    await bench.bench.until_asked("POST")
    publishing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await publishing
    assert fleet.gate.state_of(generation_of(bench, 0)) is EngineState.PENDING
    report = await bench.run(fleet.publish(fleet.gate.snapshot("actor"), 3))
    # Nobody knows whether that submission arrived.
    assert list(report.quarantined) == [fleet.gate.engines[0].generation]


async def test_a_registration_that_was_withdrawn_meanwhile_is_taken_back() -> None:
    bench = Fleet(engines=1)
    fleet = await bench.started()
    await bench.run(fleet.recover("e0"))
    generation = generation_of(bench, 0)
    publishing = asyncio.create_task(fleet.publish(fleet.gate.snapshot("actor"), 2))
    await bench.bench.until_asked("POST")
    fleet.gate.mark_pending(generation)
    report = await bench.run(publishing)
    assert list(report.pending) == [generation]
    assert bench.routable == set()


async def test_publication_and_recovery_of_one_model_leave_the_other_alone() -> None:
    bench = Fleet(engines=2, models=("actor", "critic"))
    fleet = await bench.started()
    for engine in ("e0", "e1"):
        await bench.run(fleet.recover(engine))
    await bench.run(fleet.publish(fleet.gate.snapshot("actor"), 2))
    assert bench.routable == {bench.urls[0][0]}
    assert bench.versions.current("critic") == 1


async def test_a_version_that_goes_back_releases_nobody() -> None:
    bench = Fleet(engines=1)
    fleet = await bench.started()
    await bench.run(fleet.recover("e0"))
    with pytest.raises(ValueError, match="the last one was 1"):
        await bench.run(fleet.publish(fleet.gate.snapshot("actor"), 0))
    assert fleet.gate.state_of(generation_of(bench, 0)) is EngineState.PENDING


async def test_the_next_driver_goes_on_where_this_one_died() -> None:
    bench = Fleet()
    fleet = await bench.started()
    await bench.run(fleet.recover("e0"))
    gate, unresolved = fleet.gate.to_json(), bench.unresolved.model_dump_json()
    records = [engine.record.model_dump_json() for engine in bench.engines if engine.record]
    kept = UnresolvedRemovals.model_validate_json(unresolved)
    engines = [
        bench.engine(place, "actor", kept, EngineRecord.model_validate_json(record))
        for place, record in enumerate(records)
    ]
    later = bench.gated(PublicationGate.from_json(gate), engines)
    assert bench.routable == {bench.urls[1][0]}
    report = await bench.run(later.publish(later.gate.snapshot("actor"), 2))
    assert report.registered == [engines[0].generation]
    assert bench.routable == {bench.urls[0][0], bench.urls[1][0]}


async def test_replacing_weights_takes_one_engine_at_a_time_out_of_the_router_and_updates_it_idle() -> None:
    bench = Fleet(engines=3)
    fleet = await bench.started()
    busy = {urls[0]: 3 for urls in bench.urls}
    updated: list[str] = []

    async def running(url: str) -> int | None:
        busy[url] -= 1
        assert url not in bench.routable
        return max(busy[url], 0)

    async def transfer(snapshot: WeightSnapshot) -> None:
        (generation,) = snapshot.generations
        url = bench.engines[int(generation.engine_id[1:])].url
        assert url is not None
        assert busy[url] == 0
        assert bench.routable == {urls[0] for urls in bench.urls} - {url}
        updated.append(generation.engine_id)

    report = await bench.run(fleet.replace("actor", 2, transfer, running_requests=running))
    assert updated == ["e0", "e1", "e2"]
    assert len(report.registered) == 3
    assert report.busy == []
    assert len(bench.routable) == 3
    assert bench.versions.current("actor") == 2


async def test_replacing_stops_at_a_transfer_that_fails_and_that_engine_stays_out() -> None:
    bench = Fleet(engines=3)
    fleet = await bench.started()

    async def transfer(snapshot: WeightSnapshot) -> None:
        if snapshot.generations[0].engine_id == "e1":
            raise ConnectionError("NCCL")

    with pytest.raises(ConnectionError):
        await bench.run(fleet.replace("actor", 2, transfer, running_requests=idle))
    assert bench.routable == {bench.urls[0][0], bench.urls[2][0]}
    assert bench.versions.current("actor") == 1


async def test_replacing_stops_at_an_engine_that_does_not_come_back() -> None:
    bench = Fleet(engines=3)
    fleet = await bench.started()
    moved: list[str] = []

    async def transfer(snapshot: WeightSnapshot) -> None:
        moved.append(snapshot.generations[0].engine_id)
        bench.router.faults.add(lose_answer(), method="POST")

    report = await bench.run(fleet.replace("actor", 2, transfer, running_requests=idle))
    assert moved == ["e0"]
    assert len(report.quarantined) == 1
    assert bench.versions.current("actor") == 1


async def test_an_engine_whose_load_is_unknown_is_not_idle_and_its_time_to_drain_is_bounded() -> None:
    bench = Fleet(engines=1)
    fleet = await bench.started()

    async def unknown(url: str) -> int | None:
        assert url
        return None

    async def transfer(snapshot: WeightSnapshot) -> None:
        assert snapshot.generations

    began = bench.clock()
    report = await bench.run(fleet.replace("actor", 2, transfer, running_requests=unknown, drain_timeout_seconds=30.0))
    assert report.busy == report.registered == [generation_of(bench, 0)]
    assert bench.clock() - began >= 30.0


async def test_an_engine_that_may_still_be_routed_is_not_updated() -> None:
    bench = Fleet(engines=1)
    fleet = await bench.started()
    bench.router.faults.add(server_error(), times=500)

    async def transfer(snapshot: WeightSnapshot) -> None:
        raise AssertionError(snapshot)

    with pytest.raises(EngineStateError, match="may still be routed"):
        await bench.run(fleet.replace("actor", 2, transfer, running_requests=idle))


async def test_a_frozen_model_is_not_replaced() -> None:
    bench = Fleet(engines=1, models=("reference",))
    fleet = await bench.started()

    async def transfer(snapshot: WeightSnapshot) -> None:
        raise AssertionError(snapshot)

    with pytest.raises(GateError, match="frozen"):
        await bench.run(fleet.replace("reference", 2, transfer, running_requests=idle))
    assert bench.routable == {bench.urls[0][0]}


async def test_a_retired_engine_leaves_the_router_first_then_finishes_and_then_stops() -> None:
    bench = Fleet()
    fleet = await bench.started()
    left = [2, 1, 0]

    async def running(url: str) -> int | None:
        assert url not in bench.routable
        assert await bench.engines[0].is_alive()
        return left.pop(0)

    assert await bench.run(fleet.retire("e0", running_requests=running))
    assert left == []
    assert not await bench.engines[0].is_alive()
    assert [entry.generation.engine_id for entry in fleet.gate.engines] == ["e1"]
    with pytest.raises(EngineStateError, match="start it"):
        await bench.run(fleet.retire("e0", running_requests=running))


async def test_an_engine_with_the_published_weights_rejoins_at_once() -> None:
    bench = Fleet()
    fleet = await bench.started()
    bench.router.restart()
    assert bench.routable == set()
    report = await bench.run(fleet.rejoin("e0", 1))
    assert report.registered == [generation_of(bench, 0)]
    assert bench.routable == {bench.urls[0][0]}


@pytest.mark.parametrize("version", [0, 2, None])
async def test_an_engine_with_other_weights_waits_for_the_next_transfer(version: int | None) -> None:
    bench = Fleet(engines=1)
    fleet = await bench.started()
    bench.router.restart()
    report = await bench.run(fleet.rejoin("e0", version))
    assert report.registered == []
    assert bench.routable == set()
    report = await bench.run(fleet.publish(fleet.gate.snapshot("actor"), 3))
    assert report.registered == [generation_of(bench, 0)]


async def test_an_engine_with_the_published_weights_waits_while_a_transfer_runs() -> None:
    bench = Fleet(engines=1)
    fleet = await bench.started()
    fleet.gate.snapshot("actor")
    bench.router.restart()
    await bench.run(fleet.rejoin("e0", 1))
    assert bench.routable == set()


async def test_an_engine_of_a_frozen_model_rejoins_whatever_its_version() -> None:
    bench = Fleet(engines=1, models=("reference",))
    fleet = await bench.started()
    bench.router.restart()
    await bench.run(fleet.rejoin("e0", None))
    assert bench.routable == {bench.urls[0][0]}


async def test_an_engine_in_quarantine_does_not_rejoin() -> None:
    bench = Fleet(engines=1)
    fleet = await bench.started()
    fleet.gate.quarantine(generation_of(bench, 0), reason="by hand")
    with pytest.raises(EngineStateError, match="recover it"):
        await bench.run(fleet.rejoin("e0", 1))


def test_an_engine_is_known_by_one_name() -> None:
    bench = Fleet(engines=1)
    with pytest.raises(ValueError, match="one id"):
        bench.gated(bench.gate, bench.engines * 2)
