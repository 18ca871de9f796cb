"""Removal: asked for once, again only where a look shows the need, and over when nothing can bring the worker back."""

import asyncio

import pytest
from lifecycle_bench import (
    DELETED,
    NO_SUCH,
    OTHER,
    SMG,
    SPEC,
    URL,
    UUID,
    VERSIONS,
    Bench,
    Step,
    answer,
    job,
    listing,
    record,
    row,
    scripted,
)

from router_lifecycle import (
    Answer,
    AuthenticationError,
    IdentityConflict,
    LifecycleEvent,
    OperationError,
    OperationTimeout,
    Phase,
    RegistrationFailed,
    RegistrationHandle,
    RemovalFailed,
    RemovalHandle,
    RemovalUnresolved,
    Request,
    RouterLifecycleClient,
    SubmissionUnknown,
    TransportError,
    Worker,
    WorkerRow,
    WorkerSpec,
)
from router_lifecycle.testing import (
    EPOCH_SECONDS,
    FakeEngine,
    Health,
    ManualClock,
    RouterOptions,
    Stage,
    html_page,
    lose_answer,
    lose_request,
    reset,
    server_error,
)

ONE = f"GET /workers/{UUID}"
ALL = "GET /workers"
WORKER = Worker(router="http://router:30000", url=URL, worker_id=UUID, rows=(WorkerRow(url=URL, id=UUID),))
LOST = TransportError("no answer within 10 s", maybe_sent=True)


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_worker_is_removed_with_one_request_and_is_gone_when_the_call_returns(version: str) -> None:
    bench = Bench(version)
    client = bench.client()
    worker = await bench.run(client.register(SPEC))
    await bench.run(client.remove(worker))
    assert bench.router.workers == []
    assert len(bench.sent("DELETE")) == 1
    await bench.pass_time(60)
    assert bench.router.workers == []


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("form", ["url", "spec", "listed", "removal"])
async def test_a_worker_is_removed_by_whatever_names_it(version: str, form: str) -> None:
    bench = Bench(version)
    client = bench.client()
    await bench.run(client.register(SPEC))
    listed = (await bench.run(client.list_workers()))[0]
    target = {
        "url": URL + "/",
        "spec": SPEC,
        "listed": listed,
        "removal": RemovalHandle(router=client.router_url, url=URL),
    }
    await bench.run(client.remove(target[form]))  # type: ignore[arg-type]
    assert bench.router.workers == []


async def test_accepted_then_removing_then_gone_is_removed() -> None:
    clock, script, client = scripted(
        "uuid",
        {
            "DELETE": [DELETED],
            ONE: [answer(200, row()), record("RemoveWorker"), NO_SUCH],
            ALL: [listing(row()), listing(row()), listing()],
        },
    )
    await clock.run(client.remove(WORKER))
    assert script.count("DELETE") == 1


@pytest.mark.parametrize("stage", [Stage.BEFORE, Stage.AFTER])
@pytest.mark.parametrize("version", VERSIONS)
async def test_a_lost_answer_to_a_delete_is_found_out_by_looking(version: str, stage: Stage) -> None:
    bench = Bench(version)
    client = bench.client()
    worker = await bench.run(client.register(SPEC))
    bench.router.faults.add(lose_answer() if stage is Stage.AFTER else lose_request(), method="DELETE")
    await bench.run(client.remove(worker))
    assert bench.router.workers == []
    # Repeated only where the first one did not arrive.
    assert len(bench.sent("DELETE")) == (1 if stage is Stage.AFTER else 2)


async def test_a_delete_whose_answer_was_lost_is_not_repeated_while_the_removal_goes_on() -> None:
    clock, script, client = scripted(
        "uuid",
        {
            "DELETE": [LOST],
            ONE: [answer(200, row()), *[record("RemoveWorker")] * 9, NO_SUCH],
            ALL: [*[listing(row())] * 10, listing()],
        },
    )
    await clock.run(client.remove(WORKER))
    assert script.count("DELETE") == 1


async def test_a_delete_is_repeated_only_after_looks_that_show_the_worker_still_there() -> None:
    def unless_deleted(there: Answer, gone: Answer) -> Step:
        return lambda _request: gone if script.count("DELETE") == 2 else there

    clock, script, client = scripted(
        "uuid",
        {
            "DELETE": [answer(503), DELETED],
            ONE: [unless_deleted(answer(200, row()), NO_SUCH)],
            ALL: [unless_deleted(listing(row()), listing())],
        },
    )
    await clock.run(client.remove(WORKER))
    calls = [request.method for request in script.requests]
    between = calls[calls.index("DELETE") + 1 : len(calls) - calls[::-1].index("DELETE") - 1]
    assert script.count("DELETE") == 2
    assert between.count("GET") >= 4
    assert clock() >= 2.0


async def test_a_worker_that_isnt_there_is_removed_already() -> None:
    clock, script, client = scripted("uuid", {"DELETE": [NO_SUCH], ONE: [NO_SUCH], ALL: [listing()]})
    await clock.run(client.remove(WORKER))
    assert script.count("DELETE") <= 1


async def test_a_404_to_a_delete_of_an_active_worker_is_settled_by_the_list() -> None:
    clock, script, client = scripted(
        "uuid",
        {"DELETE": [NO_SUCH], ONE: [answer(200, row()), NO_SUCH], ALL: [listing(row()), listing()]},
    )
    await clock.run(client.remove(WORKER))
    assert script.count("DELETE") == 1


def accepted_handle(age_seconds: float = 0.0, *, listed_before: bool = False) -> RegistrationHandle:
    return RegistrationHandle(
        router="http://router:30000",
        spec=SPEC,
        phase=Phase.ACCEPTED,
        dialect="uuid",
        worker_id=UUID,
        listed_before=listed_before,
        submitted_at_unix_seconds=1_700_000_000.0 - age_seconds,
    )


async def test_a_404_while_pending_is_absence_only_after_steady_looks_at_record_and_list() -> None:
    clock, script, client = scripted("uuid", {"DELETE": [NO_SUCH], ONE: [record(), NO_SUCH], ALL: [listing()]})
    handle = accepted_handle()
    await clock.run(client.remove(handle))
    assert clock() >= 5.0
    assert script.count("DELETE") == 1
    assert handle.phase is Phase.REMOVED


async def test_a_404_while_pending_is_no_absence_when_the_record_may_have_expired() -> None:
    clock, _, client = scripted("uuid", {"DELETE": [NO_SUCH], ONE: [record(), NO_SUCH], ALL: [listing()]})
    handle = accepted_handle(age_seconds=299.0)
    with pytest.raises(RemovalUnresolved):
        await clock.run(client.remove(handle))
    assert handle.phase is Phase.UNRESOLVED


@pytest.mark.parametrize("version", VERSIONS)
async def test_removing_what_the_router_never_had_succeeds(version: str) -> None:
    bench = Bench(version)
    await bench.run(bench.client().remove(OTHER))
    assert bench.router.workers == []


@pytest.mark.parametrize("version", ["0.2.2", "0.2.4"])
async def test_a_removal_that_failed_because_there_is_nothing_is_a_success(version: str) -> None:
    bench = Bench(version)
    client = bench.client()
    worker = await bench.run(client.register(SPEC))
    await bench.run(client.remove(worker))
    handle = RemovalHandle(router=client.router_url, url=URL, deletes=1, answer="accepted")
    await bench.run(bench.client().wait_until_absent(handle))
    assert handle.done


@pytest.mark.parametrize("version", ["0.2.2", "0.2.4", "0.3.0", "0.3.2", SMG])
async def test_a_failed_registration_is_cleaned_up_without_an_error(version: str) -> None:
    bench = Bench(version, FakeEngine(OTHER), options=RouterOptions(startup_timeout_seconds=5.0))
    client = bench.client()
    handle = await bench.run(client.submit(SPEC))
    with pytest.raises(RegistrationFailed):
        await bench.run(client.wait_until_active(handle, timeout=120))
    await bench.run(client.remove(handle))
    assert handle.phase is Phase.REMOVED


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_failed_registration_can_be_removed_and_registered_again(version: str) -> None:
    engine = FakeEngine(URL, health=Health.DOWN)
    bench = Bench(version, engine, options=RouterOptions(startup_timeout_seconds=5.0))
    client = bench.client()
    handle = await bench.run(client.submit(SPEC))
    with pytest.raises(RegistrationFailed):
        await bench.run(client.wait_until_active(handle, timeout=120))
    engine.becomes(Health.HEALTHY, bench.clock())
    await bench.run(client.remove(handle))
    await bench.run(client.register(SPEC))
    assert bench.routable == [URL]


@pytest.mark.parametrize("version", ["0.2.4", "0.3.0", "0.3.2", SMG])
async def test_a_ghost_that_comes_up_within_the_deadline_is_removed_too(version: str) -> None:
    engine = FakeEngine(URL, health=Health.LOADING)
    bench = Bench(version, engine)
    client = bench.client()
    handle = await bench.run(client.submit(SPEC))
    engine.becomes(Health.HEALTHY, bench.clock() + 20.0)
    await bench.run(client.remove(handle, timeout=120))
    assert handle.phase is Phase.REMOVED
    assert len(bench.sent("DELETE")) == 2
    assert bench.posts == 1
    await bench.pass_time(2000.0)
    assert bench.router.workers == []


@pytest.mark.parametrize("version", ["0.2.4", "0.3.0", "0.3.2", SMG])
async def test_a_pending_removal_is_unresolved_at_the_deadline_and_the_watch_removes_the_ghost(version: str) -> None:
    engine = FakeEngine(URL, health=Health.LOADING)
    bench = Bench(version, engine)
    client = bench.client()
    handle = await bench.run(client.submit(SPEC))
    engine.becomes(Health.HEALTHY, 400.0)
    with pytest.raises(RemovalUnresolved) as caught:
        await bench.run(client.remove(handle, timeout=30))
    assert bench.router.workers == []
    assert not caught.value.safe_to_resubmit
    assert handle.phase is Phase.UNRESOLVED
    removal = caught.value.handle
    assert isinstance(removal, RemovalHandle)
    elsewhere = RemovalHandle.model_validate_json(removal.model_dump_json())
    await bench.run(bench.client().watch_for_ghost(elsewhere))
    assert elsewhere.done
    assert bench.clock() >= 400.0
    await bench.pass_time(2000.0)
    assert bench.router.workers == []
    assert bench.posts == 1


async def test_a_watch_ends_when_the_router_must_have_given_up() -> None:
    bench = Bench("0.3.2", FakeEngine(URL, health=Health.LOADING), options=RouterOptions(startup_timeout_seconds=570.0))
    client = bench.client(worker_startup_timeout_seconds=600.0)
    handle = await bench.run(client.submit(SPEC))
    with pytest.raises(RemovalUnresolved):
        await bench.run(client.remove(handle, timeout=5))
    await bench.run(client.watch_for_ghost(handle))
    assert handle.phase is Phase.REMOVED
    assert bench.clock() <= 660.0


async def test_on_0_2_0_a_pending_worker_is_listed_and_really_removed() -> None:
    bench = Bench("0.2.0", FakeEngine(URL, health=Health.LOADING))
    client = bench.client()
    handle = await bench.run(client.submit(SPEC))
    await bench.pass_time(1.0)
    await bench.run(client.remove(handle))
    assert handle.phase is Phase.REMOVED
    assert len(bench.sent("DELETE")) == 1


@pytest.mark.parametrize("version", ["0.2.4", "0.3.2"])
async def test_an_unknown_submission_is_removed_once_it_shows(version: str) -> None:
    engine = FakeEngine(URL, health=Health.LOADING)
    bench = Bench(version, engine)
    client = bench.client()
    bench.router.faults.add(lose_answer(), method="POST")
    handle = RegistrationHandle(router=client.router_url, spec=SPEC)
    with pytest.raises(SubmissionUnknown):
        await bench.run(client.submit(handle))
    engine.becomes(Health.HEALTHY, bench.clock() + 20.0)
    await bench.run(client.remove(handle, timeout=120))
    await bench.pass_time(2000.0)
    assert bench.router.workers == []


@pytest.mark.parametrize("version", ["0.2.4", "0.3.2"])
async def test_a_status_that_expires_during_a_removal_is_no_absence(version: str) -> None:
    engine = FakeEngine(URL, health=Health.LOADING)
    bench = Bench(version, engine)
    client = bench.client()
    handle = await bench.run(client.submit(SPEC))
    await bench.pass_time(370.0)
    engine.becomes(Health.HEALTHY, 450.0)
    await bench.run(client.remove(handle, timeout=200))
    assert bench.clock() >= 450.0
    await bench.pass_time(2000.0)
    assert bench.router.workers == []


async def test_a_removal_that_the_router_failed_is_told_with_its_message() -> None:
    failed = answer(200, row(job_status=job("RemoveWorker", "failed", "disk on fire")))
    clock, script, client = scripted(
        "uuid", {"DELETE": [DELETED], ONE: [answer(200, row()), failed], ALL: [listing(row())]}
    )
    with pytest.raises(RemovalFailed, match="disk on fire"):
        await clock.run(client.remove(WORKER))
    assert script.count("DELETE") == 1


async def test_the_failure_of_an_earlier_removal_is_no_failure_of_this_one() -> None:
    old = answer(200, row(job_status=job("RemoveWorker", "failed", "disk on fire")))
    clock, script, client = scripted(
        "uuid", {"DELETE": [DELETED], ONE: [old, old, NO_SUCH], ALL: [listing(row()), listing(row()), listing()]}
    )
    await clock.run(client.remove(WORKER))
    assert script.count("DELETE") == 1


@pytest.mark.parametrize("status", [400, 405, 409, 422])
async def test_a_refused_delete_ends_the_removal_at_once(status: int) -> None:
    clock, script, client = scripted(
        "uuid", {"DELETE": [answer(status, "no")], ONE: [answer(200, row())], ALL: [listing(row())]}
    )
    with pytest.raises(RemovalFailed, match=f"HTTP {status}: no"):
        await clock.run(client.remove(WORKER))
    assert [request.method for request in script.requests][-1] == "DELETE"


@pytest.mark.parametrize("status", [401, 403])
async def test_a_delete_without_the_right_key_ends_the_removal_at_once(status: int) -> None:
    clock, _, client = scripted("uuid", {"DELETE": [answer(status)], ONE: [answer(200, row())], ALL: [listing(row())]})
    with pytest.raises(AuthenticationError):
        await clock.run(client.remove(WORKER))


@pytest.mark.parametrize("body", ["<html>", "", '{"status": "accepted", "worker_id": "other"}'])
async def test_a_delete_answer_that_isnt_understood_is_settled_by_looking(body: str) -> None:
    clock, script, client = scripted(
        "uuid", {"DELETE": [answer(202, body)], ONE: [answer(200, row()), NO_SUCH], ALL: [listing(row()), listing()]}
    )
    await clock.run(client.remove(WORKER))
    assert script.count("DELETE") == 1


@pytest.mark.parametrize("fault", [lose_answer(), lose_request(), server_error(503), reset(), reset(Stage.AFTER)])
async def test_a_draining_worker_is_never_deleted_again(fault: object) -> None:
    bench = Bench(SMG)
    client = bench.client()
    worker = await bench.run(client.register(SPEC))
    await bench.run(client.submit_removal(worker))
    bench.router.faults.add(fault, method="GET", times=3)  # type: ignore[arg-type]
    for _ in range(3):
        with pytest.raises(OperationError):
            await bench.run(client.remove(worker, timeout=0.4))
    await bench.run(bench.client().remove(URL))
    assert len(bench.sent("DELETE")) == 1
    # The drain is over, so nobody loses the URL to a removal that fires late.
    await bench.run(client.register(SPEC))
    await bench.pass_time(30.0)
    assert bench.routable == [URL]


@pytest.mark.parametrize("version", ["0.2.2", "0.2.4", "0.3.0", "0.3.2", SMG])
async def test_a_data_parallel_worker_is_removed_by_whichever_id_the_router_accepts(version: str) -> None:
    bench = Bench(version, FakeEngine(URL, dp_size=4), options=RouterOptions(dp_aware=True))
    client = bench.client()
    worker = await bench.run(client.register(SPEC))
    assert len(bench.router.workers) == 4
    await bench.run(client.remove(worker))
    assert bench.router.workers == []
    assert len(bench.sent("DELETE")) == (4 if version == SMG else 1)


@pytest.mark.parametrize("version", ["0.2.2", "0.2.4", SMG])
async def test_listed_ranks_are_enough_to_remove_a_worker_where_the_ids_are_shown(version: str) -> None:
    bench = Bench(version, FakeEngine(URL, dp_size=2), options=RouterOptions(dp_aware=True))
    await bench.run(bench.client().register(SPEC))
    await bench.run(bench.client().remove(URL))
    assert bench.router.workers == []


async def test_ranks_whose_id_no_list_shows_are_told_how_to_be_removed() -> None:
    bench = Bench("0.3.2", FakeEngine(URL, dp_size=2), options=RouterOptions(dp_aware=True))
    client = bench.client()
    await bench.run(client.register(SPEC))
    with pytest.raises(RemovalFailed, match="submit the worker again"):
        await bench.run(client.remove(URL))
    assert bench.sent("DELETE") == []
    # The advice holds.
    handle = await bench.run(client.submit(SPEC))
    await bench.run(client.remove(await bench.run(client.wait_until_active(handle))))
    assert bench.router.workers == []


async def test_on_0_2_0_a_dp_aware_router_that_cant_remove_says_so() -> None:
    bench = Bench("0.2.0", FakeEngine(URL, dp_size=2), options=RouterOptions(dp_aware=True))
    client = bench.client()
    worker = await bench.run(client.register(SPEC))
    with pytest.raises(RemovalFailed, match="No workers found with prefix"):
        await bench.run(client.remove(worker))


async def test_a_starved_removal_is_waited_for_and_not_repeated() -> None:
    dead = [WorkerSpec(url=f"http://10.9.9.{index}:1") for index in range(10)]
    bench = Bench("0.3.2", FakeEngine(URL), options=RouterOptions(startup_timeout_seconds=40.0))
    client = bench.client()
    worker = await bench.run(client.register(SPEC))
    # The record of its own job would wipe that of the removal.
    await bench.pass_time(1.0)
    for spec in dead:
        await bench.run(client.submit(spec))
    await bench.run(client.remove(worker, timeout=120))
    assert bench.routable == []
    assert len(bench.sent("DELETE")) == 1


async def test_two_entries_of_one_url_are_a_conflict() -> None:
    clock, script, client = scripted(
        "uuid", {"DELETE": [DELETED], ONE: [answer(200, row())], ALL: [listing(row(), row(worker_id="other-id"))]}
    )
    with pytest.raises(IdentityConflict, match="two entries"):
        await clock.run(client.remove(WORKER))
    assert script.count("DELETE") == 0


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_router_that_is_down_holds_up_a_shutdown_for_its_own_small_budget_only(version: str) -> None:
    bench = Bench(version)
    client = bench.client(unreachable_budget_seconds=3.0)
    worker = await bench.run(client.register(SPEC))
    bench.router.stop()
    began = bench.clock()
    with pytest.raises(RemovalUnresolved, match="no request has reached the router") as caught:
        await bench.run(client.remove(worker, timeout=600))
    assert 3.0 <= bench.clock() - began <= 9.0
    bench.router.restart()
    assert isinstance(caught.value.handle, RemovalHandle)
    await bench.run(client.wait_until_absent(caught.value.handle))


async def test_a_short_outage_doesnt_end_a_removal() -> None:
    bench = Bench()
    client = bench.client(unreachable_budget_seconds=3.0)
    worker = await bench.run(client.register(SPEC))
    bench.router.faults.add(server_error(503), method="GET", times=20)
    bench.router.faults.add(html_page(), method="GET", times=1)
    await bench.run(client.remove(worker, timeout=200))
    assert bench.router.workers == []


async def test_a_removal_that_was_cancelled_says_uncertain_and_goes_on_elsewhere() -> None:
    bench = Bench()
    client = bench.client()
    worker = await bench.run(client.register(SPEC))
    bench.router.faults.add(lose_answer(), method="DELETE")
    handle = RemovalHandle(router=client.router_url, url=URL, worker_id=worker.worker_id)
    removing = asyncio.ensure_future(client.wait_until_absent(handle))
    await bench.until_asked("DELETE")
    removing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await removing
    assert (handle.deletes, handle.answer, handle.done) == (1, "uncertain", False)
    await bench.run(bench.client().wait_until_absent(RemovalHandle.model_validate_json(handle.model_dump_json())))
    assert len(bench.sent("DELETE")) == 1
    assert len(asyncio.all_tasks()) == 1


async def test_submit_removal_returns_once_it_was_asked_for() -> None:
    bench = Bench(SMG)
    client = bench.client()
    worker = await bench.run(client.register(SPEC))
    handle = await bench.run(client.submit_removal(worker))
    assert (handle.deletes, handle.answer, handle.done) == (1, "accepted", False)
    assert len(bench.router.workers) == 1
    await bench.run(client.wait_until_absent(handle))
    assert bench.router.workers == []
    requests = len(bench.router.requests)
    await bench.run(client.wait_until_absent(handle))
    assert len(bench.router.requests) == requests


async def test_a_worker_that_stays_listed_is_a_time_out_with_a_handle() -> None:
    clock, _, client = scripted(
        "uuid", {"DELETE": [DELETED], ONE: [answer(200, row()), record("RemoveWorker")], ALL: [listing(row())]}
    )
    with pytest.raises(OperationTimeout) as caught:
        await clock.run(client.remove(WORKER, timeout=30))
    assert isinstance(caught.value.handle, RemovalHandle)
    assert caught.value.handle.deletes == 1


@pytest.mark.parametrize("version", VERSIONS)
async def test_replacing_one_worker_by_another_keeps_one_routable_throughout(version: str) -> None:
    bench = Bench(version, FakeEngine(URL), FakeEngine(OTHER))
    client = bench.client()
    old = await bench.run(client.register(SPEC))
    await bench.run(client.replace(old, WorkerSpec(url=OTHER)))
    assert bench.routable == [OTHER]
    order = [event.worker_url for event in bench.events if event.kind in ("accepted", "removing")]
    assert order == [URL, OTHER, URL]


async def test_the_old_worker_stays_when_the_new_one_fails() -> None:
    bench = Bench("0.3.2", FakeEngine(URL), options=RouterOptions(startup_timeout_seconds=5.0))
    client = bench.client()
    old = await bench.run(client.register(SPEC))
    with pytest.raises(RegistrationFailed):
        await bench.run(client.replace(old, WorkerSpec(url=OTHER)))
    assert bench.routable == [URL]
    assert bench.sent("DELETE") == []


@pytest.mark.parametrize("version", VERSIONS)
async def test_replacing_on_the_same_url_removes_confirms_and_adds(version: str) -> None:
    bench = Bench(version)
    client = bench.client()
    old = await bench.run(client.register(SPEC))
    new = await bench.run(client.replace(old, WorkerSpec(url=URL, priority=7)))
    assert [row.priority for row in new.rows] == [7]
    kinds = [event.kind for event in bench.events]
    assert kinds.index("removing") < kinds.index("gone") < len(kinds) - 1 - kinds[::-1].index("submitting")
    await bench.pass_time(30.0)
    assert bench.routable == [URL]


async def test_a_worker_that_is_listed_just_after_its_removal_looked_for_it_is_asked_for_again() -> None:
    engine = FakeEngine(URL, health=Health.LOADING)
    engine.becomes(Health.HEALTHY, at_seconds=40.0)
    bench = Bench("0.2.0", engine)
    client = bench.client()
    handle = await bench.run(client.submit(SPEC))
    await bench.run(client.remove(handle, timeout=20))
    assert len(bench.sent("DELETE")) == 2
    await bench.pass_time(60.0)
    assert bench.router.workers == []
    assert handle.phase is Phase.REMOVED


async def test_a_worker_that_is_listed_while_its_removal_still_runs_and_finds_nothing_is_asked_for_again() -> None:
    def listed(status: str, message: str | None = None) -> Answer:
        return answer(200, row(worker_id=URL, job_status=job("RemoveWorker", status, message)))

    def record_until_the_second(_: Request) -> Answer:
        return listed("failed", f"Worker {URL} not found") if script.count("DELETE") < 2 else NO_SUCH

    def list_until_the_second(_: Request) -> Answer:
        return listing(row(worker_id=URL)) if script.count("DELETE") < 2 else listing()

    clock, script, client = scripted(
        "url",
        {
            "DELETE": [DELETED],
            "GET": [record(worker_id=URL), listed("processing"), record_until_the_second],
            ALL: [listing(), list_until_the_second],
        },
    )
    handle = RegistrationHandle(
        router=client.router_url,
        spec=SPEC,
        phase=Phase.ACCEPTED,
        worker_id=URL,
        listed_before=False,
        submitted_at_unix_seconds=EPOCH_SECONDS,
    )
    await clock.run(client.remove(handle, timeout=60))
    assert script.count("DELETE") == 2
    assert handle.phase is Phase.REMOVED


async def test_connections_that_are_never_answered_hold_a_removal_up_for_no_more_than_the_budget() -> None:
    clock = ManualClock()

    class Silent:
        async def send(self, _: Request, *, timeout_seconds: float) -> Answer:
            await clock.sleep(timeout_seconds / 2)
            raise TransportError("ConnectTimeout", maybe_sent=False)

        async def aclose(self) -> None:
            """Nothing to close."""

    client = RouterLifecycleClient("http://router:30000", transport=Silent(), clock=clock, sleep=clock.sleep)
    with pytest.raises(RemovalUnresolved, match="no request has reached the router for 5 s"):
        await clock.run(client.remove(URL, timeout=60))
    assert clock() == 5.0


async def test_a_router_that_takes_requests_and_answers_none_is_told_and_ends_a_removal_at_the_bound_of_a_request() -> (
    None
):
    clock = ManualClock()
    told: list[LifecycleEvent] = []

    class Mute:
        async def send(self, _: Request, *, timeout_seconds: float) -> Answer:
            await clock.sleep(timeout_seconds)
            raise TransportError("ReadTimeout", maybe_sent=True)

        async def aclose(self) -> None:
            """Nothing to close."""

    client = RouterLifecycleClient(
        "http://router:30000", transport=Mute(), clock=clock, sleep=clock.sleep, on_event=told.append
    )
    with pytest.raises(RemovalUnresolved, match="no request has been answered for 5 s"):
        await clock.run(client.remove(URL, timeout=60))
    assert clock() == 10.0
    assert [(event.kind, event.elapsed_seconds) for event in told] == [("unanswered", 10.0)]


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_replacement_on_the_same_url_that_is_taken_up_again_keeps_the_new_worker(version: str) -> None:
    bench = Bench(version)
    client = bench.client()
    old = await bench.run(client.register(SPEC))
    handle = RegistrationHandle(router=client.router_url, spec=WorkerSpec(url=URL, priority=7))
    await bench.run(client.replace(old, handle))
    deletes = len(bench.sent("DELETE"))
    resumed = RegistrationHandle.model_validate_json(handle.model_dump_json())
    new = await bench.run(bench.client().replace(old, resumed))
    assert [row.priority for row in new.rows] == [7]
    assert (bench.posts, len(bench.sent("DELETE"))) == (2, deletes)
    assert bench.routable == [URL]


async def test_a_replacement_on_the_same_url_with_an_unknown_submission_removes_nothing() -> None:
    bench = Bench("0.3.2")
    client = bench.client()
    old = await bench.run(client.register(SPEC))
    unknown = RegistrationHandle(router=client.router_url, spec=SPEC, phase=Phase.SUBMISSION_UNKNOWN)
    with pytest.raises(SubmissionUnknown):
        await bench.run(client.replace(old, unknown))
    assert bench.routable == [URL]


async def test_a_delete_that_never_left_is_sent_as_soon_as_the_router_is_back() -> None:
    refused = TransportError("connection refused", maybe_sent=False)
    clock, script, client = scripted(
        "uuid",
        {
            "DELETE": [refused, DELETED],
            ONE: [answer(200, row())] * 2 + [NO_SUCH],
            ALL: [listing(row())] * 2 + [listing()],
        },
    )
    handle = RemovalHandle(router=client.router_url, url=URL, worker_id=UUID)
    await clock.run(client.wait_until_absent(handle))
    assert script.count("DELETE") == 2
    assert (handle.deletes, handle.answer, handle.done) == (1, "accepted", True)
    # 2 s of it are for the record of the removal to go.
    assert clock() < 3.0


@pytest.mark.parametrize(("version", "dies"), [("0.2.4", False), ("0.3.2", True), (SMG, False)])
async def test_a_listed_data_parallel_worker_is_replaced_where_its_ids_are_shown(version: str, dies: bool) -> None:
    bench = Bench(version, FakeEngine(URL, dp_size=2), options=RouterOptions(dp_aware=True))
    client = bench.client()
    await bench.run(client.register(SPEC))
    if dies:
        with pytest.raises(RemovalFailed, match="which no list shows"):
            await bench.run(client.register(SPEC, on_existing="replace"))
        assert bench.sent("DELETE") == []
    else:
        worker = await bench.run(client.register(SPEC, on_existing="replace"))
        assert worker.ranks == (0, 1)
        assert bench.posts == 2
