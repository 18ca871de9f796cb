"""Registration: one POST, and then looks until the outcome is certain. Each rule of the client has its test here."""

import asyncio

import pytest
from lifecycle_bench import (
    ACCEPTED,
    NO_SUCH,
    OTHER,
    SMG,
    SPEC,
    URL,
    UUID,
    VERSIONS,
    Bench,
    answer,
    job,
    listing,
    record,
    row,
    scripted,
)

from router_lifecycle import (
    AlreadyRegistered,
    AuthenticationError,
    CreateInProgress,
    IdentityConflict,
    LifecycleEvent,
    NotSent,
    OperationError,
    OperationTimeout,
    Phase,
    ReconciledState,
    RegistrationFailed,
    RegistrationHandle,
    RegistrationLost,
    RouterUnsupported,
    SubmissionRejected,
    SubmissionUnknown,
    TransportError,
    WorkerSpec,
)
from router_lifecycle.testing import (
    FakeEngine,
    Health,
    RouterOptions,
    Stage,
    html_page,
    lose_answer,
    lose_request,
    reset,
    server_error,
    too_many_requests,
)

ONE = f"GET /workers/{UUID}"
ALL = "GET /workers"


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_worker_is_registered_with_one_post_and_is_routable_when_the_call_returns(version: str) -> None:
    bench = Bench(version)
    worker = await bench.run(bench.client().register(SPEC))
    assert bench.routable == [URL]
    assert worker.is_routable
    assert bench.posts == 1


async def test_accepted_then_processing_then_healthy_is_active() -> None:
    clock, script, client = scripted(
        "uuid",
        {
            "POST /workers": [ACCEPTED],
            ONE: [record(status="pending"), record(), answer(200, row())],
            ALL: [listing(), listing(), listing(), listing(row())],
        },
    )
    worker = await clock.run(client.register(SPEC))
    assert (worker.worker_id, script.count("POST")) == (UUID, 1)


async def test_a_404_after_a_202_proves_nothing_until_the_list_agrees() -> None:
    clock, script, client = scripted(
        "uuid",
        {"POST /workers": [ACCEPTED], ONE: [NO_SUCH], ALL: [listing(), listing(), listing(), listing(row())]},
    )
    assert (await clock.run(client.register(SPEC))).is_routable
    assert script.count("POST") == 1


@pytest.mark.parametrize("version", ["0.2.0", "0.2.4", "0.3.2"])
async def test_a_failed_activation_is_told_with_the_routers_message_and_isnt_submitted_again(version: str) -> None:
    bench = Bench(version, FakeEngine(OTHER), options=RouterOptions(startup_timeout_seconds=5.0))
    with pytest.raises(RegistrationFailed) as caught:
        await bench.run(bench.client().register(SPEC, timeout=120))
    assert URL in caught.value.message
    assert "ealth check" in caught.value.message
    assert caught.value.handle is not None
    assert isinstance(caught.value.handle, RegistrationHandle)
    assert caught.value.handle.phase is Phase.FAILED
    assert bench.posts == 1
    # 0.2.0 goes on listing what failed.
    assert caught.value.safe_to_resubmit is (version != "0.2.0")


async def test_an_already_exists_of_the_router_is_a_failed_registration_with_its_message() -> None:
    why = f"Worker {URL} already exists"
    clock, script, client = scripted(
        "uuid", {"POST /workers": [ACCEPTED], ONE: [record(status="failed", message=why)], ALL: [listing()]}
    )
    with pytest.raises(RegistrationFailed, match="already exists") as caught:
        await clock.run(client.register(SPEC))
    assert caught.value.worker_id == UUID
    assert script.count("POST") == 1


async def test_smg_says_of_a_failure_only_that_the_id_is_gone() -> None:
    bench = Bench(SMG, FakeEngine(OTHER), options=RouterOptions(startup_timeout_seconds=5.0))
    with pytest.raises(RegistrationFailed, match="it failed, which this router doesn't record") as caught:
        await bench.run(bench.client().register(SPEC, timeout=240))
    assert caught.value.safe_to_resubmit


@pytest.mark.parametrize("status", [400, 404, 405, 415, 422, 307])
async def test_a_definite_refusal_is_rejected_and_may_be_submitted_again(status: int) -> None:
    clock, script, client = scripted(
        "uuid",
        {
            "POST /workers": [answer(status, {"error": "no", "code": "BAD"}), ACCEPTED],
            ONE: [answer(200, row())],
            ALL: [listing(), listing(), listing(row())],
        },
    )
    handle = RegistrationHandle(router=client.router_url, spec=SPEC)
    with pytest.raises(SubmissionRejected) as caught:
        await clock.run(client.submit(handle))
    assert caught.value.safe_to_resubmit
    assert handle.phase is Phase.NEW
    assert (await clock.run(client.register(handle))).is_routable
    assert script.count("POST") == 2


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 201, 204])
async def test_an_ambiguous_answer_leaves_the_submission_unknown_and_nothing_is_posted_again(status: int) -> None:
    clock, script, client = scripted("uuid", {"POST /workers": [answer(status)], ALL: [listing()]})
    handle = RegistrationHandle(router=client.router_url, spec=SPEC)
    for call in (client.submit, client.register, client.wait_until_active):
        with pytest.raises(SubmissionUnknown) as caught:
            await clock.run(call(handle))
        assert not caught.value.safe_to_resubmit
    assert handle.phase is Phase.SUBMISSION_UNKNOWN
    assert script.count("POST") == 1


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_lost_answer_to_an_accepted_post_is_found_by_looking(version: str) -> None:
    bench = Bench(version)
    client = bench.client()
    bench.router.faults.add(lose_answer(), method="POST")
    handle = RegistrationHandle(router=client.router_url, spec=SPEC)
    with pytest.raises(SubmissionUnknown):
        await bench.run(client.register(handle))
    found = await bench.run(client.reconcile(handle))
    assert found.state is ReconciledState.ACTIVE
    assert handle.worker_id == bench.router.workers[0].worker_id
    assert (await bench.run(client.wait_until_active(handle))).is_routable
    assert bench.posts == 1


@pytest.mark.parametrize("version", ["0.2.0", "0.2.2", "0.2.4"])
async def test_a_post_that_never_arrived_is_absent_where_the_router_tells_of_pending_urls(version: str) -> None:
    bench = Bench(version)
    client = bench.client()
    bench.router.faults.add(lose_request(), method="POST")
    handle = RegistrationHandle(router=client.router_url, spec=SPEC)
    with pytest.raises(SubmissionUnknown):
        await bench.run(client.submit(handle))
    found = await bench.run(client.reconcile(handle))
    assert found.state is ReconciledState.ABSENT
    assert found.safe_to_resubmit
    assert (await bench.run(client.register(handle))).is_routable


@pytest.mark.parametrize("version", ["0.3.0", "0.3.2", SMG])
async def test_a_post_that_never_arrived_stays_unresolved_where_a_pending_worker_cant_be_seen(version: str) -> None:
    bench = Bench(version)
    client = bench.client(worker_startup_timeout_seconds=600.0)
    bench.router.faults.add(lose_request(), method="POST")
    handle = RegistrationHandle(router=client.router_url, spec=SPEC)
    with pytest.raises(SubmissionUnknown):
        await bench.run(client.submit(handle))
    assert (await bench.run(client.reconcile(handle))).state is ReconciledState.UNRESOLVED
    assert handle.phase is Phase.SUBMISSION_UNKNOWN
    assert (await bench.run(client.reconcile(handle, settle_seconds=30.0))).state is ReconciledState.ABSENT
    assert (await bench.run(client.register(handle))).is_routable
    assert bench.routable == [URL]


async def test_what_cant_be_seen_is_absent_once_the_router_must_have_given_up() -> None:
    bench = Bench("0.3.2")
    client = bench.client(worker_startup_timeout_seconds=600.0)
    bench.router.faults.add(lose_request(), method="POST")
    handle = RegistrationHandle(router=client.router_url, spec=SPEC)
    with pytest.raises(SubmissionUnknown):
        await bench.run(client.submit(handle))
    found = await bench.run(client.reconcile(handle, timeout=700.0))
    assert found.state is ReconciledState.ABSENT
    assert bench.clock() > 600.0


@pytest.mark.parametrize(
    "accepted",
    [
        answer(202, "<html>ok</html>"),
        answer(202, {"status": "queued", "worker_id": UUID}),
        answer(202, {"status": "accepted", "worker_id": "not-a-uuid", "url": URL, "location": "/workers/not-a-uuid"}),
        answer(202, {"status": "accepted", "worker_id": UUID, "url": OTHER, "location": f"/workers/{UUID}"}),
        answer(202, {"status": "accepted", "worker_id": UUID, "url": URL, "location": "/workers/7"}),
        answer(200, "<html>Please wait</html>"),
        answer(200, {"text": "hello", "meta_info": {}}),
    ],
)
async def test_an_acceptance_that_isnt_understood_leaves_the_submission_unknown(accepted: object) -> None:
    assert isinstance(accepted, type(ACCEPTED))
    clock, script, client = scripted("uuid", {"POST /workers": [accepted], ALL: [listing()]})
    with pytest.raises(SubmissionUnknown) as caught:
        await clock.run(client.submit(SPEC))
    assert caught.value.worker_id is None
    assert script.count("POST") == 1


async def test_where_ids_are_urls_the_identity_survives_an_answer_that_isnt_understood() -> None:
    path = "GET /workers/http%3A%2F%2F10.0.0.1%3A30000"
    clock, _, client = scripted("url", {"POST /workers": [answer(202, "garbage")], ALL: [listing()], path: [NO_SUCH]})
    with pytest.raises(SubmissionUnknown) as caught:
        await clock.run(client.submit(SPEC))
    assert caught.value.worker_id == URL


async def test_a_refused_connection_is_certainly_not_sent_and_may_be_tried_again() -> None:
    refused = TransportError("connection refused", maybe_sent=False)
    clock, script, client = scripted(
        "uuid",
        {"POST /workers": [refused, ACCEPTED], ONE: [answer(200, row())], ALL: [listing(), listing(), listing(row())]},
    )
    handle = RegistrationHandle(router=client.router_url, spec=SPEC)
    with pytest.raises(NotSent) as caught:
        await clock.run(client.submit(handle))
    assert caught.value.safe_to_resubmit
    assert handle.phase is Phase.NEW
    assert (await clock.run(client.register(handle))).is_routable
    assert script.count("POST") == 2


async def test_a_router_that_is_down_gets_no_post() -> None:
    bench = Bench()
    bench.router.stop()
    with pytest.raises(NotSent) as caught:
        await bench.run(bench.client().register(SPEC, timeout=20))
    assert caught.value.safe_to_resubmit
    assert bench.posts == 0


@pytest.mark.parametrize("version", VERSIONS)
async def test_single_disturbances_of_a_look_are_tolerated(version: str) -> None:
    bench = Bench(version)
    client = bench.client()
    handle = await bench.run(client.submit(SPEC))
    for fault in (
        server_error(503),
        too_many_requests(1.0),
        server_error(408),
        reset(),
        html_page(),
        lose_answer(),
        reset(Stage.AFTER),
    ):
        bench.router.faults.add(fault, method="GET")
    assert (await bench.run(client.wait_until_active(handle))).is_routable


async def test_a_retry_after_is_kept() -> None:
    bench = Bench()
    client = bench.client()
    handle = await bench.run(client.submit(SPEC))
    bench.router.faults.add(too_many_requests(17.0), method="GET", times=2)
    await bench.run(client.wait_until_active(handle))
    assert bench.clock() >= 17.0


@pytest.mark.parametrize("status", [401, 403])
async def test_a_refused_key_ends_a_wait_at_once(status: int) -> None:
    clock, _, client = scripted(
        "uuid",
        {"POST /workers": [ACCEPTED], ALL: [listing(), answer(status, "Admin role required")]},
    )
    handle = await clock.run(client.submit(SPEC))
    began = clock()
    with pytest.raises(AuthenticationError, match="Admin role required") as caught:
        await clock.run(client.wait_until_active(handle))
    assert clock() - began < 0.1
    assert not caught.value.safe_to_resubmit


@pytest.mark.parametrize("version", ["0.2.0", "0.3.2", SMG])
async def test_a_router_with_a_key_refuses_without_it_and_gets_it_with_every_request(version: str) -> None:
    bench = Bench(version, options=RouterOptions(api_key="k"))
    with pytest.raises(AuthenticationError) as caught:
        await bench.run(bench.client().register(SPEC))
    assert caught.value.safe_to_resubmit
    worker = await bench.run(bench.client(api_key="k").register(SPEC))
    await bench.run(bench.client(api_key="k").remove(worker))
    seen = [request.authorization for request in bench.router.requests]
    assert seen[0] is None
    assert set(seen[1:]) <= {"Bearer k", None}
    assert {request.authorization for request in bench.router.requests if request.method != "GET"} == {"Bearer k"}


@pytest.mark.parametrize("api_key", [None, ""])
async def test_no_key_and_an_empty_key_send_no_authorization(api_key: str | None) -> None:
    bench = Bench()
    await bench.run(bench.client(api_key=api_key).register(SPEC))
    assert {request.authorization for request in bench.router.requests} == {None}


async def test_a_removal_by_somebody_else_during_the_wait_is_a_conflict_that_names_both_jobs() -> None:
    clock, _, client = scripted(
        "uuid", {"POST /workers": [ACCEPTED], ONE: [record("RemoveWorker", "processing")], ALL: [listing()]}
    )
    with pytest.raises(IdentityConflict) as caught:
        await clock.run(client.register(SPEC))
    assert "AddWorker" in str(caught.value)
    assert "RemoveWorker processing" in str(caught.value)


async def test_unknown_jobs_and_states_are_waited_out() -> None:
    odd = dict(job("UpdateWorker", "queued"))
    del odd["message"]
    clock, _, client = scripted(
        "smg",
        {
            "POST /workers": [ACCEPTED],
            ONE: [
                answer(200, row(healthy=False, status="warming_up", job_status=odd)),
                answer(200, row(status="ready")),
            ],
            ALL: [listing(), listing(row(healthy=False, status="warming_up")), listing(row(status="ready"))],
        },
    )
    assert (await clock.run(client.register(SPEC))).is_routable


@pytest.mark.parametrize("about", [row(OTHER), row(worker_id="00000000-0000-4000-8000-000000000001")])
async def test_an_answer_about_another_worker_is_a_conflict(about: dict[str, object]) -> None:
    clock, _, client = scripted("uuid", {"POST /workers": [ACCEPTED], ONE: [answer(200, about)], ALL: [listing()]})
    with pytest.raises(IdentityConflict, match="the router answers about"):
        await clock.run(client.register(SPEC))


async def test_a_deadline_leaves_a_handle_that_can_be_waited_for_again_without_a_post() -> None:
    engine = FakeEngine(URL, health=Health.LOADING)
    bench = Bench("0.3.2", engine)
    client = bench.client()
    with pytest.raises(OperationTimeout) as caught:
        await bench.run(client.register(SPEC, timeout=30))
    assert 29.0 <= bench.clock() <= 30.0
    assert caught.value.observation is not None
    assert "AddWorker processing" in str(caught.value)
    assert isinstance(caught.value, TimeoutError)
    engine.becomes(Health.HEALTHY, bench.clock())
    dumped = caught.value.handle
    assert dumped is not None
    elsewhere = RegistrationHandle.model_validate_json(dumped.model_dump_json())
    assert (await bench.run(bench.client().wait_until_active(elsewhere))).is_routable
    assert bench.posts == 1


async def test_where_ids_are_urls_the_whole_url_is_encoded_in_the_path() -> None:
    url = "http://[::1]:30000"
    bench = Bench("0.2.4", FakeEngine(url))
    worker = await bench.run(bench.client().register(WorkerSpec(url=url)))
    await bench.run(bench.client().remove(worker))
    assert "/workers/http%3A%2F%2F%5B%3A%3A1%5D%3A30000" in bench.sent("GET")
    assert bench.sent("DELETE") == ["/workers/http%3A%2F%2F%5B%3A%3A1%5D%3A30000"]
    assert bench.router.workers == []


async def test_a_prefill_worker_is_sent_with_its_bootstrap_port() -> None:
    bench = Bench()
    spec = WorkerSpec(url=URL, worker_type="prefill", bootstrap_port=8998)
    worker = await bench.run(bench.client().register(spec))
    assert worker.worker_type == "prefill"
    posted = next(request for request in bench.router.requests if request.method == "POST")
    assert posted.json() == {"url": URL, "worker_type": "prefill", "bootstrap_port": 8998}


@pytest.mark.parametrize("version", ["0.2.0", "0.2.2", "0.2.4", "0.3.0", "0.3.2", SMG])
async def test_a_data_parallel_worker_is_active_when_every_rank_is(version: str) -> None:
    bench = Bench(version, FakeEngine(URL, dp_size=4), options=RouterOptions(dp_aware=True))
    worker = await bench.run(bench.client().register(SPEC))
    ranks = () if version == "0.2.0" else (0, 1, 2, 3)
    assert worker.ranks == ranks
    assert len(bench.routable) == (len(ranks) or 1)


async def test_a_rank_that_is_missing_or_unhealthy_keeps_the_worker_from_being_active() -> None:
    ranks = [row(f"{URL}@{rank}", worker_id=f"r{rank}", metadata={"dp_size": "2"}) for rank in (0, 1)]
    sick = {**ranks[1], "is_healthy": False}
    clock, script, client = scripted(
        "uuid",
        {
            "POST /workers": [ACCEPTED],
            ONE: [NO_SUCH],
            ALL: [listing(), listing(), listing(ranks[0]), listing(ranks[0], sick), listing(*ranks)],
        },
    )
    worker = await clock.run(client.register(SPEC))
    assert worker.ranks == (0, 1)
    assert script.requests.count(script.requests[-1]) == 6


@pytest.mark.parametrize(
    ("code", "kind"), [("WORKER_ALREADY_EXISTS", AlreadyRegistered), ("WORKER_CREATE_IN_PROGRESS", CreateInProgress)]
)
async def test_a_409_is_told_with_the_id_that_the_router_names(code: str, kind: type[OperationError]) -> None:
    refusal = answer(409, {"error": f"Worker already there with ID {UUID}. Use PUT", "code": code})
    clock, script, client = scripted("smg", {"POST /workers": [refusal], ALL: [listing()]})
    with pytest.raises(kind) as caught:
        await clock.run(client.register(SPEC))
    assert caught.value.worker_id == UUID
    assert not caught.value.safe_to_resubmit
    assert script.count("POST") == 1


@pytest.mark.parametrize("version", ["0.2.0", "0.2.2", "0.2.4", "0.3.0", "0.3.2"])
async def test_a_duplicate_that_somebody_submits_meanwhile_fails_alone(version: str) -> None:
    engine = FakeEngine(URL, health=Health.DOWN)
    bench = Bench(version, engine)
    ours = await bench.run(bench.client().submit(SPEC))
    await bench.run(bench.client().submit(SPEC))
    engine.becomes(Health.HEALTHY, bench.clock() + 12)
    assert (await bench.run(bench.client().wait_until_active(ours))).is_routable


async def test_adopting_waits_for_the_creation_that_is_in_progress() -> None:
    engine = FakeEngine(URL, health=Health.LOADING)
    bench = Bench(SMG, engine)
    first = await bench.run(bench.client().submit(SPEC))
    engine.becomes(Health.HEALTHY, bench.clock() + 10)
    worker = await bench.run(bench.client().register(SPEC, on_existing="adopt"))
    assert worker.worker_id == first.worker_id
    assert bench.routable == [URL]


@pytest.mark.parametrize("version", VERSIONS)
async def test_adopting_takes_over_a_listed_worker_without_a_post(version: str) -> None:
    bench = Bench(version)
    first = await bench.run(bench.client().register(SPEC))
    second = await bench.run(bench.client().register(SPEC, on_existing="adopt"))
    assert second.worker_id == first.worker_id
    assert bench.posts == 1


async def test_adopting_a_worker_of_another_type_is_a_conflict() -> None:
    bench = Bench()
    await bench.run(bench.client().register(SPEC))
    spec = WorkerSpec(url=URL, worker_type="decode")
    with pytest.raises(IdentityConflict, match="registered as 'regular', asked for 'decode'"):
        await bench.run(bench.client().register(spec, on_existing="adopt"))


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_listed_url_fails_by_default_without_a_post(version: str) -> None:
    bench = Bench(version)
    await bench.run(bench.client().register(SPEC))
    with pytest.raises(AlreadyRegistered) as caught:
        await bench.run(bench.client().register(SPEC))
    assert caught.value.worker_id == bench.router.workers[0].worker_id
    assert bench.posts == 1


@pytest.mark.parametrize("version", VERSIONS)
async def test_replacing_removes_sees_it_gone_and_registers(version: str) -> None:
    bench = Bench(version)
    await bench.run(bench.client().register(SPEC))
    spec = WorkerSpec(url=URL, worker_type="decode")
    worker = await bench.run(bench.client().register(spec, on_existing="replace"))
    assert worker.worker_type == "decode"
    assert bench.posts == 2
    assert len(bench.sent("DELETE")) == 1
    await bench.pass_time(60)
    assert bench.routable == [URL]


@pytest.mark.parametrize("version", ["0.2.0", "0.2.2", "0.2.4", "0.3.0", "0.3.2"])
async def test_a_url_that_was_listed_is_active_only_when_the_job_record_agrees(version: str) -> None:
    bench = Bench(version)
    client = bench.client()
    await bench.run(client.register(SPEC))
    # Its job ends a little later, and would take the next one's record with it.
    await bench.pass_time(0.5)
    again = await bench.run(client.submit(SPEC))
    assert again.listed_before
    with pytest.raises(RegistrationFailed, match="already exists") as caught:
        await bench.run(client.wait_until_active(again))
    assert not caught.value.safe_to_resubmit
    assert bench.routable == [URL]


async def test_a_url_that_was_not_listed_is_active_once_it_is_listed_healthy_whatever_the_record_says() -> None:
    bad = answer(200, row(job_status=job(status="failed", message="already exists")))
    clock, _, client = scripted(
        "uuid", {"POST /workers": [ACCEPTED], ONE: [bad], ALL: [listing(), listing(), listing(row())]}
    )
    assert (await clock.run(client.register(SPEC))).is_routable


async def test_on_smg_healthy_is_not_enough_where_the_status_isnt_ready() -> None:
    clock, _, client = scripted(
        "smg",
        {
            "POST /workers": [ACCEPTED],
            ONE: [answer(200, row(status="not_ready"))],
            ALL: [listing(), listing(), listing(row(status="not_ready"))],
        },
    )
    with pytest.raises(OperationTimeout):
        await clock.run(client.register(SPEC, timeout=30))


async def test_an_old_failure_of_the_url_is_not_a_failure_of_this_submission() -> None:
    path = "GET /workers/http%3A%2F%2F10.0.0.1%3A30000"
    old = record(status="failed", message="last week", worker_id=URL)
    accepted = answer(202, {"status": "accepted", "worker_id": URL, "message": "queued"})
    good = row(worker_id=URL)
    clock, _, client = scripted(
        "url",
        {
            "POST /workers": [accepted],
            path: [*[old] * 15, answer(200, good)],
            ALL: [*[listing()] * 15, listing(good)],
        },
    )
    assert (await clock.run(client.register(SPEC))).is_routable


@pytest.mark.parametrize("version", ["0.2.4", "0.3.2"])
async def test_a_record_that_expires_while_the_job_runs_means_neither_lost_nor_failed(version: str) -> None:
    engine = FakeEngine(URL, health=Health.LOADING)
    engine.becomes(Health.HEALTHY, 700.0)
    bench = Bench(version, engine)
    assert (await bench.run(bench.client().register(SPEC, timeout=900))).is_routable
    assert 700.0 <= bench.clock() <= 720.0
    assert 404 in [request.status for request in bench.router.requests]
    assert bench.posts == 1


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_router_that_restarts_has_lost_the_registration_and_it_may_be_submitted_again(version: str) -> None:
    bench = Bench(version, FakeEngine(URL, health=Health.LOADING if version != "0.2.2" else Health.DOWN))
    client = bench.client()
    handle = await bench.run(client.submit(SPEC))
    with pytest.raises(OperationTimeout):
        await bench.run(client.wait_until_active(handle, timeout=10))
    bench.router.restart()
    # SMG records no failure, so there it may just as well have failed.
    with pytest.raises(RegistrationFailed if version == SMG else RegistrationLost) as caught:
        await bench.run(client.wait_until_active(handle, timeout=60))
    assert caught.value.safe_to_resubmit
    assert ("or the router was restarted" in str(caught.value)) == (version == SMG)


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_worker_that_was_listed_and_is_not_any_more_is_lost(version: str) -> None:
    bench = Bench(version, FakeEngine(URL))
    client = bench.client()
    handle = await bench.run(client.submit(SPEC))
    await bench.run(client.wait_until_active(handle))
    bench.router.restart()
    with pytest.raises(RegistrationLost):
        await bench.run(client.wait_until_active(handle, timeout=60))


async def test_a_cancelled_submission_leaves_a_handle_that_says_unknown() -> None:
    bench = Bench()
    client = bench.client()
    bench.router.faults.add(lose_answer(), method="POST")
    handle = RegistrationHandle(router=client.router_url, spec=SPEC)
    submitting = asyncio.ensure_future(client.submit(handle))
    await bench.until_asked("POST")
    submitting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await submitting
    assert handle.phase is Phase.SUBMISSION_UNKNOWN
    with pytest.raises(SubmissionUnknown):
        await bench.run(client.submit(handle))
    assert (await bench.run(client.reconcile(handle))).state is ReconciledState.ACTIVE
    assert len(asyncio.all_tasks()) == 1


async def test_a_cancellation_before_the_post_leaves_the_handle_new() -> None:
    bench = Bench()
    client = bench.client()
    bench.router.faults.add(lose_answer(), method="GET")
    handle = RegistrationHandle(router=client.router_url, spec=SPEC)
    submitting = asyncio.ensure_future(client.submit(handle))
    await bench.until_asked("GET")
    submitting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await submitting
    assert handle.phase is Phase.NEW


async def test_a_handle_that_was_submitted_is_not_posted_again() -> None:
    bench = Bench()
    client = bench.client()
    handle = await bench.run(client.submit(SPEC))
    assert await bench.run(client.submit(handle)) is handle
    await bench.run(client.register(handle))
    assert bench.posts == 1


async def test_a_foreign_entry_never_spoils_a_list() -> None:
    clock, _, client = scripted(
        "uuid",
        {
            "POST /workers": [ACCEPTED],
            ONE: [answer(200, row())],
            ALL: [listing(), listing(), listing({"id": "odd", "url": "unix:///x"}, 7, {"id": 1}, row())],
        },
    )
    assert (await clock.run(client.register(SPEC))).url == URL
    assert [worker.url for worker in await clock.run(client.list_workers())] == ["unix:///x", URL]


async def test_two_entries_of_one_url_are_a_conflict_that_names_both() -> None:
    twins = listing(row(), row(URL + "/", worker_id="other-id"))
    clock, _, client = scripted(
        "uuid", {"POST /workers": [ACCEPTED], ONE: [answer(200, row())], ALL: [listing(), listing(), twins]}
    )
    with pytest.raises(IdentityConflict, match=f"ids {UUID} and other-id"):
        await clock.run(client.register(SPEC))


async def test_a_worker_that_comes_up_as_another_type_is_a_conflict() -> None:
    clock, _, client = scripted(
        "uuid",
        {"POST /workers": [ACCEPTED], ONE: [answer(200, row())], ALL: [listing(), listing(), listing(row())]},
    )
    with pytest.raises(IdentityConflict, match="registered as 'regular', asked for 'decode'"):
        await clock.run(client.register(WorkerSpec(url=URL, worker_type="decode")))


async def test_a_router_that_never_answers_like_one_is_unsupported_and_gets_no_post() -> None:
    clock, script, client = scripted("uuid", {"GET /workers/not-a-uuid": [answer(200, "<html>")], "GET": [answer(404)]})
    with pytest.raises(RouterUnsupported) as caught:
        await clock.run(client.register(SPEC))
    assert caught.value.safe_to_resubmit
    assert script.count("POST") == 0


async def test_each_message_names_the_worker_and_the_router() -> None:
    bench = Bench("0.3.2", FakeEngine(OTHER))
    with pytest.raises(OperationTimeout) as caught:
        await bench.run(bench.client().register(SPEC, timeout=5))
    assert f"worker {URL}" in str(caught.value)
    assert "router http://router:30000" in str(caught.value)
    assert (caught.value.phase, caught.value.worker_url, caught.value.router) == (
        "activation",
        URL,
        "http://router:30000",
    )


async def test_what_happens_is_told_while_it_happens() -> None:
    engine = FakeEngine(URL, health=Health.LOADING)
    engine.becomes(Health.HEALTHY, 0.9)
    bench = Bench("0.3.2", engine)
    await bench.run(bench.client().register(SPEC))
    assert [event.kind for event in bench.events] == ["submitting", "accepted", "pending", "active"]
    assert {type(event.kind) for event in bench.events} == {str}
    assert {(event.worker_url, event.router) for event in bench.events} == {(URL, "http://router:30000")}
    assert bench.events[-1].elapsed_seconds > 0


async def test_a_copy_of_the_handle_kept_before_the_post_lets_another_process_find_the_worker() -> None:
    bench = Bench()
    kept: list[str] = []

    def keep(event: LifecycleEvent) -> None:
        if event.kind == "submitting":
            assert bench.posts == 0
            kept.append(event.handle.model_dump_json())

    submitting = asyncio.ensure_future(bench.client(on_event=keep).submit(SPEC))
    bench.router.faults.add(lose_answer(), method="POST")
    await bench.until_asked("POST")
    submitting.cancel()
    await asyncio.gather(submitting, return_exceptions=True)
    held = RegistrationHandle.model_validate_json(kept[0])
    assert held.phase is Phase.SUBMISSION_UNKNOWN
    assert (await bench.run(bench.client().reconcile(held))).state is ReconciledState.ACTIVE
    assert bench.posts == 1


async def test_what_a_listener_raises_before_the_post_ends_the_operation_without_one() -> None:
    def refuse(event: LifecycleEvent) -> None:
        raise KeyError(event.kind)

    bench = Bench()
    with pytest.raises(KeyError, match="submitting"):
        await bench.run(bench.client(on_event=refuse).submit(SPEC))
    assert bench.posts == 0


async def test_many_are_registered_with_a_result_for_each() -> None:
    third = "http://10.0.0.3:30000"
    bench = Bench("0.3.2", FakeEngine(URL), FakeEngine(third), options=RouterOptions(startup_timeout_seconds=5.0))
    specs = [WorkerSpec(url=url) for url in (URL, OTHER, third)]
    results = await bench.run(bench.client().register_many(specs, timeout=120))
    assert [result.url for result in results] == [URL, OTHER, third]
    assert [result.worker is not None for result in results] == [True, False, True]
    assert isinstance(results[1].error, RegistrationFailed)
    assert sorted(bench.routable) == [URL, third]


async def test_one_url_twice_is_refused_before_any_request() -> None:
    bench = Bench()
    with pytest.raises(ValueError, match="each URL once"):
        await bench.client().register_many([SPEC, SPEC])
    assert bench.router.requests == []


@pytest.mark.parametrize("status", [401, 403])
async def test_a_key_that_may_look_but_not_register_is_refused_and_nothing_was_accepted(status: int) -> None:
    clock, script, client = scripted(
        "smg", {"POST /workers": [answer(status, "Admin role required for this operation")], ALL: [listing()]}
    )
    handle = RegistrationHandle(router=client.router_url, spec=SPEC)
    with pytest.raises(AuthenticationError, match="Admin role required") as caught:
        await clock.run(client.submit(handle))
    assert caught.value.safe_to_resubmit
    assert handle.phase is Phase.NEW
    assert script.count("POST") == 1


async def test_two_calls_with_one_handle_send_one_post() -> None:
    bench = Bench()
    client = bench.client()
    handle = RegistrationHandle(router=client.router_url, spec=SPEC)
    results = await bench.run(asyncio.gather(client.submit(handle), client.submit(handle), return_exceptions=True))
    assert bench.posts == 1
    assert [type(result) for result in results].count(SubmissionUnknown) == 1
    assert handle.phase is Phase.ACCEPTED


async def test_replacing_a_creation_in_progress_waits_until_its_ghost_is_gone() -> None:
    engine = FakeEngine(URL, health=Health.LOADING)
    bench = Bench(SMG, engine)
    await bench.run(bench.client().submit(SPEC))
    engine.becomes(Health.HEALTHY, bench.clock() + 10)
    spec = WorkerSpec(url=URL, priority=7)
    worker = await bench.run(bench.client().register(spec, on_existing="replace", timeout=240))
    assert [entry.priority for entry in worker.rows] == [7]
    await bench.pass_time(60.0)
    assert bench.routable == [URL]


async def test_a_misspelt_on_existing_is_refused_and_removes_nothing() -> None:
    bench = Bench("0.3.2")
    client = bench.client()
    await bench.run(client.register(SPEC))
    for call in (client.register, client.register_many):
        with pytest.raises(ValueError, match="on_existing='error' is not allowed: give one of fail, adopt, replace"):
            await bench.run(call([SPEC] if call == client.register_many else SPEC, on_existing="error"))  # type: ignore[arg-type]
    assert (bench.posts, bench.sent("DELETE")) == (1, [])


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_handle_that_was_never_sent_is_reconciled_at_once(version: str) -> None:
    bench = Bench(version)
    client = bench.client()
    handle = RegistrationHandle(router=client.router_url, spec=SPEC)
    found = await bench.run(client.reconcile(handle))
    assert (found.state, found.safe_to_resubmit, handle.phase) == (ReconciledState.ABSENT, True, Phase.NEW)
    assert bench.clock() < 0.1
    await bench.run(client.register(handle))
    assert bench.routable == [URL]


async def test_an_entry_under_another_id_proves_nothing_by_itself() -> None:
    clock, _, client = scripted(
        "uuid",
        {
            "POST /workers": [ACCEPTED],
            ONE: [answer(200, row("http://10.0.0.7:30000"))],
            ALL: [listing(), listing(row(worker_id="0a22902a-1ade-4527-a65b-48895386a906"))],
        },
    )
    with pytest.raises(IdentityConflict, match=r"10\.0\.0\.7"):
        await clock.run(client.register(SPEC))
