"""How the fake router's workers come and go over time: the quirks of each release that a client must survive."""

from typing import Any

import pytest
from fake_router_talk import ALL, DEAD, SMG, UNKNOWN_UUID, URL_IDS, UUID_IDS, A, B, Talk

from router_lifecycle.testing import EPOCH_SECONDS, FakeEngine, FakeRouter, Health, RouterOptions

LATER = tuple(version for version in ALL if version != "0.2.0")


@pytest.mark.parametrize("version", ALL)
async def test_a_live_worker_is_listed_before_its_job_ends(version: str) -> None:
    talk = Talk(version)
    worker_id = await talk.accepted()
    assert await talk.job(worker_id) == ("AddWorker", "processing")
    talk.clock.advance(0.2)
    assert [worker.routable for worker in talk.router.workers] == [True]
    is_over = version in URL_IDS
    assert await talk.job(worker_id) == (None if is_over else ("AddWorker", "processing"))
    talk.clock.advance(0.25)
    assert await talk.job(worker_id) is None


async def test_0_2_0_lists_a_worker_before_it_is_healthy() -> None:
    talk = Talk("0.2.0")
    talk.late(6)
    worker_id = await talk.accepted(DEAD)
    talk.clock.advance(1)
    row = (await talk.rows())[DEAD]
    assert (row["is_healthy"], row["model_id"]) == (False, "Qwen3-0.6B")
    assert await talk.job(worker_id) == ("AddWorker", "processing")
    talk.clock.advance(5.1)
    assert (await talk.rows())[DEAD]["is_healthy"] is True
    assert await talk.job(worker_id) is None


@pytest.mark.parametrize(("version", "listed_at"), [("0.2.4", 6.05), ("0.3.2", 6.06), (SMG, 30.17)])
async def test_a_late_engine_is_found_at_the_next_probe(version: str, listed_at: float) -> None:
    talk = Talk(version)
    talk.late(4)
    await talk.accepted(DEAD)
    talk.clock.advance(listed_at - 0.01)
    assert talk.router.workers == []
    talk.clock.advance(0.02)
    assert [worker.routable for worker in talk.router.workers] == [True]


async def test_0_2_2_takes_an_engine_that_still_loads_for_healthy() -> None:
    talk = Talk("0.2.2", FakeEngine(A, health=Health.LOADING))
    await talk.accepted()
    talk.clock.advance(0.1)
    assert [worker.routable for worker in talk.router.workers] == [True]
    talk.clock.advance(200)
    assert [worker.routable for worker in talk.router.workers] == [False]


@pytest.mark.parametrize(
    ("version", "failed_at"), [("0.2.0", 5.05), ("0.2.2", 36.0), ("0.2.4", 3.6), ("0.3.0", 3.6), ("0.3.2", 3.6)]
)
async def test_a_dead_url_fails_at_the_time_of_the_release(version: str, failed_at: float) -> None:
    talk = Talk(version, startup_timeout_seconds=5)
    worker_id = await talk.accepted(DEAD)
    talk.clock.advance(failed_at - 0.06)
    assert await talk.job(worker_id) == ("AddWorker", "processing")
    talk.clock.advance(0.1)
    shown = (await talk.one("GET", worker_id)).json()
    assert (shown["job_status"]["status"], shown["is_healthy"]) == ("failed", False)
    assert DEAD in shown["job_status"]["message"]
    assert shown["job_status"]["timestamp"] == int(EPOCH_SECONDS + failed_at)
    assert [worker.url for worker in talk.router.workers] == ([DEAD] if version == "0.2.0" else [])


async def test_smg_keeps_no_trace_of_a_failure_and_gives_the_next_attempt_another_id() -> None:
    talk = Talk(SMG, startup_timeout_seconds=5)
    first = await talk.accepted(DEAD)
    talk.clock.advance(35.9)
    assert await talk.job(first) == ("AddWorker", "processing")
    talk.clock.advance(0.2)
    assert (await talk.one("GET", first)).status_code == 404
    assert await talk.accepted(DEAD) != first


@pytest.mark.parametrize("version", UUID_IDS)
async def test_the_next_attempt_after_a_failure_keeps_the_uuid(version: str) -> None:
    talk = Talk(version, startup_timeout_seconds=5)
    first = await talk.accepted(DEAD)
    talk.clock.advance(5)
    assert await talk.accepted(DEAD) == first


@pytest.mark.parametrize("version", ["0.3.0", "0.3.2", "0.2.4"])
async def test_an_engine_that_hangs_takes_five_seconds_a_probe(version: str) -> None:
    talk = Talk(version, FakeEngine(A, health=Health.HANGING), startup_timeout_seconds=5)
    worker_id = await talk.accepted()
    talk.clock.advance(17.9)
    assert await talk.job(worker_id) == ("AddWorker", "processing")
    talk.clock.advance(0.2)
    assert await talk.job(worker_id) == ("AddWorker", "failed")


@pytest.mark.parametrize("version", ["0.2.4", "0.3.0", "0.3.2"])
async def test_the_record_of_a_job_that_runs_is_evicted_and_the_worker_still_comes(version: str) -> None:
    talk = Talk(version)
    talk.late(420)
    worker_id = await talk.accepted(DEAD)
    talk.clock.advance(299)
    assert await talk.job(worker_id) == ("AddWorker", "processing")
    talk.clock.advance(2)
    assert (await talk.one("GET", worker_id)).status_code == 404
    talk.clock.advance(130)
    assert [worker.routable for worker in talk.router.workers] == [True]


async def test_smg_evicts_no_job_that_runs() -> None:
    talk = Talk(SMG)
    worker_id = await talk.accepted(DEAD)
    talk.clock.advance(540)
    assert await talk.job(worker_id) == ("AddWorker", "processing")


@pytest.mark.parametrize("version", [v for v in ALL if v != SMG])
async def test_a_failure_is_remembered_for_five_to_six_minutes(version: str) -> None:
    talk = Talk(version, startup_timeout_seconds=5)
    worker_id = await talk.accepted(DEAD)
    talk.clock.advance(299)
    assert await talk.job(worker_id) == ("AddWorker", "failed")
    talk.clock.advance(70)
    if version == "0.2.0":
        assert (await talk.one("GET", worker_id)).json()["is_healthy"] is False
        assert await talk.job(worker_id) is None
    else:
        assert (await talk.one("GET", worker_id)).status_code == 404


@pytest.mark.parametrize("version", [v for v in ALL if v != SMG])
async def test_a_duplicate_leaves_a_failed_record_on_a_healthy_worker(version: str) -> None:
    talk = Talk(version)
    worker_id = await talk.accepted(priority=7)
    talk.clock.advance(1)
    assert await talk.accepted(priority=99) == worker_id
    talk.clock.advance(1)
    shown = (await talk.one("GET", worker_id)).json()
    assert (shown["is_healthy"], shown["priority"], shown["job_status"]["status"]) == (True, 7, "failed")
    assert shown["job_status"]["message"].endswith(f"Worker {A} already exists")


async def test_smg_refuses_a_duplicate_with_the_id_of_the_first() -> None:
    talk = Talk(SMG)
    worker_id = await talk.accepted()
    pending = await talk.post()
    talk.clock.advance(1)
    active = await talk.post()
    assert (pending.status_code, pending.json()["code"]) == (409, "WORKER_CREATE_IN_PROGRESS")
    assert (active.status_code, active.json()["code"]) == (409, "WORKER_ALREADY_EXISTS")
    assert worker_id in pending.json()["error"]
    assert worker_id in active.json()["error"]


async def test_the_end_of_one_job_wipes_the_record_of_another() -> None:
    talk = Talk("0.3.2")
    talk.late(1)
    worker_id = await talk.accepted(DEAD)
    talk.clock.advance(0.5)
    assert await talk.accepted(DEAD) == worker_id
    seen = []
    for _ in range(40):
        talk.clock.advance(0.1)
        seen.append(await talk.job(worker_id))
    # The first one ends well and deletes the record of the second, which then fails: the worker is there.
    assert seen.index(None) < seen.index(("AddWorker", "failed"))
    assert [worker.routable for worker in talk.router.workers] == [True]


@pytest.mark.parametrize("version", ALL)
async def test_a_removed_worker_leaves_the_list_before_its_record_or_drains(version: str) -> None:
    talk = Talk(version)
    worker_id = await talk.accepted()
    talk.clock.advance(1)
    answer = await talk.one("DELETE", worker_id)
    assert answer.status_code == 202
    assert answer.json() == {
        "status": "accepted",
        "worker_id": worker_id,
        "message": "Worker removal queued for background processing",
    }
    talk.clock.advance(0.01)
    if version == SMG:
        shown = (await talk.one("GET", worker_id)).json()
        assert (shown["status"], shown["is_healthy"]) == ("draining", False)
        talk.clock.advance(4.9)
        assert [worker.routable for worker in talk.router.workers] == [False]
        talk.clock.advance(0.1)
    assert talk.router.workers == []
    if version in ("0.2.2", "0.2.4"):
        assert await talk.job(worker_id) == ("RemoveWorker", "processing")
    talk.clock.advance(0.2)
    assert (await talk.one("GET", worker_id)).status_code == 404


@pytest.mark.parametrize("version", ALL)
async def test_removing_what_nobody_knows_is_answered_as_the_release_does(version: str) -> None:
    talk = Talk(version)
    answer = await talk.one("DELETE", A if version in URL_IDS else UNKNOWN_UUID)
    if version not in URL_IDS:
        assert (answer.status_code, answer.json()["code"]) == (404, "WORKER_NOT_FOUND")
        return
    assert answer.status_code == 202
    talk.clock.advance(0.2)
    shown = (await talk.one("GET", A)).json()
    assert (shown["job_status"]["job_type"], shown["job_status"]["status"]) == ("RemoveWorker", "failed")
    assert shown["job_status"]["message"].endswith(f"Worker {A} not found")
    assert shown["worker_type"] == "unknown"
    assert await talk.rows() == {}


@pytest.mark.parametrize("version", UUID_IDS)
async def test_a_removed_worker_comes_back_under_another_uuid(version: str) -> None:
    talk = Talk(version)
    first = await talk.accepted()
    talk.clock.advance(1)
    await talk.one("DELETE", first)
    talk.clock.advance(1)
    assert (await talk.one("DELETE", first)).status_code == 404
    assert await talk.accepted() != first


@pytest.mark.parametrize("version", LATER)
async def test_a_removal_does_not_cancel_an_activation(version: str) -> None:
    talk = Talk(version)
    if version == "0.2.2":
        talk.late(2, Health.DOWN)
    else:
        talk.late(2)
    worker_id = await talk.accepted(DEAD)
    talk.clock.advance(0.5)
    assert (await talk.one("DELETE", worker_id)).status_code == 202
    talk.clock.advance(0.2)
    assert await talk.job(worker_id) == ("RemoveWorker", "failed")
    assert talk.router.workers == []
    talk.clock.advance(40)
    assert [worker.routable for worker in talk.router.workers] == [True]


async def test_0_2_0_removes_what_is_pending() -> None:
    talk = Talk("0.2.0")
    talk.late(2)
    worker_id = await talk.accepted(DEAD)
    talk.clock.advance(0.5)
    await talk.one("DELETE", worker_id)
    talk.clock.advance(40)
    assert talk.router.workers == []
    assert (await talk.one("GET", worker_id)).status_code == 404


@pytest.mark.parametrize("version", UUID_IDS)
async def test_a_ghost_of_a_worker_that_was_registered_before_has_an_id_that_nobody_was_told(version: str) -> None:
    talk = Talk(version, check_interval_seconds=1)
    engine = talk.late(0)
    worker_id = await talk.accepted(DEAD)
    talk.clock.advance(1)
    engine.becomes(Health.DOWN, at_seconds=talk.clock())
    talk.clock.advance(4)
    assert [worker.routable for worker in talk.router.workers] == [False]
    assert await talk.accepted(DEAD) == worker_id
    talk.clock.advance(0.5)
    await talk.one("DELETE", worker_id)
    talk.clock.advance(0.2)
    assert talk.router.workers == []
    engine.becomes(Health.HEALTHY, at_seconds=talk.clock())
    talk.clock.advance(10)
    (ghost,) = talk.router.workers
    assert ghost.routable
    assert ghost.worker_id != worker_id


async def test_the_drain_of_a_removed_worker_removes_its_successor() -> None:
    talk = Talk(SMG)
    first = await talk.accepted()
    talk.clock.advance(1)
    await talk.one("DELETE", first)
    talk.clock.advance(0.1)
    refused = await talk.post()
    assert (refused.status_code, refused.json()["code"]) == (409, "WORKER_ALREADY_EXISTS")
    await talk.one("DELETE", first)
    talk.clock.advance(0.1)
    assert talk.router.workers == []
    second = await talk.accepted()
    talk.clock.advance(1)
    assert [(worker.worker_id, worker.routable) for worker in talk.router.workers] == [(second, True)]
    talk.clock.advance(4)
    assert talk.router.workers == []


async def test_smg_removes_an_unhealthy_worker_at_once() -> None:
    talk = Talk(SMG, check_interval_seconds=1)
    engine = talk.late(0)
    worker_id = await talk.accepted(DEAD)
    talk.clock.advance(1)
    engine.becomes(Health.DOWN, at_seconds=talk.clock())
    talk.clock.advance(3)
    assert (await talk.rows())[DEAD]["status"] == "not_ready"
    talk.clock.advance(9)
    assert (await talk.rows())[DEAD]["status"] == "failed"
    await talk.one("DELETE", worker_id)
    talk.clock.advance(0.01)
    assert talk.router.workers == []


@pytest.mark.parametrize("version", ALL)
async def test_a_dead_worker_stays_healthy_for_three_checks_and_recovers_with_one(version: str) -> None:
    talk = Talk(version, check_interval_seconds=1)
    engine = talk.late(0)
    await talk.accepted(DEAD)
    talk.clock.advance(0.95)
    engine.becomes(Health.DOWN, at_seconds=talk.clock())
    talk.clock.advance(2)
    assert [worker.routable for worker in talk.router.workers] == [True]
    talk.clock.advance(1)
    assert [worker.routable for worker in talk.router.workers] == [False]
    engine.becomes(Health.HEALTHY, at_seconds=talk.clock())
    talk.clock.advance(1)
    assert [worker.routable for worker in talk.router.workers] == [True]


async def test_0_2_0_serves_a_late_worker_while_its_job_says_failed() -> None:
    talk = Talk("0.2.0", startup_timeout_seconds=3, check_interval_seconds=1)
    talk.late(8, Health.DOWN)
    worker_id = await talk.accepted(DEAD)
    talk.clock.advance(9)
    shown = (await talk.one("GET", worker_id)).json()
    assert (shown["is_healthy"], shown["model_id"], shown["job_status"]["status"]) == (True, "unknown", "failed")


@pytest.mark.parametrize("version", ["0.2.2", "0.2.4", "0.3.0", "0.3.2"])
async def test_ranks_are_entries_that_the_accepted_id_does_not_name(version: str) -> None:
    talk = Talk(version, FakeEngine(A, dp_size=2), dp_aware=True)
    base = await talk.accepted()
    talk.clock.advance(1)
    assert (await talk.one("GET", base)).status_code == 404
    rows = await talk.rows()
    assert sorted(rows) == [f"{A}@0", f"{A}@1"]
    rank = rows[f"{A}@0"]["id"]
    assert (await talk.one("GET", rank)).json() == rows[f"{A}@0"]
    assert (await talk.one("DELETE", rank)).status_code == 202
    talk.clock.advance(0.2)
    failed = (await talk.one("GET", rank)).json()["job_status"]
    assert failed["message"].endswith(f"No workers found with prefix {A}@0@")
    assert await talk.accepted() == base
    talk.clock.advance(1)
    assert len(await talk.rows()) == 2
    regular = (await talk.http.get("/workers")).json()["stats"]["regular_count"]
    assert regular == (4 if version in URL_IDS else 2)
    await talk.one("DELETE", base)
    talk.clock.advance(0.2)
    assert await talk.rows() == {}
    assert (await talk.one("GET", base)).status_code == 404


async def test_smg_removes_rank_by_rank_and_lists_a_single_rank_under_its_plain_url() -> None:
    talk = Talk(SMG, FakeEngine(A, dp_size=2), FakeEngine(B), dp_aware=True)
    base, plain = await talk.accepted(A), await talk.accepted(B)
    talk.clock.advance(1)
    rows = await talk.rows()
    assert sorted(rows) == [f"{A}@0", f"{A}@1", B]
    assert rows[B]["id"] == plain
    assert [(rows[f"{A}@{n}"]["dp_rank"], rows[f"{A}@{n}"]["dp_size"]) for n in (0, 1)] == [(0, 2), (1, 2)]
    assert rows[f"{A}@0"]["dp_base_url"] == A
    assert (await talk.one("GET", base)).status_code == (await talk.one("DELETE", base)).status_code == 404
    await talk.one("DELETE", rows[f"{A}@0"]["id"])
    talk.clock.advance(5.1)
    assert sorted(await talk.rows()) == [f"{A}@1", B]
    # It was accepted again under the same id, and nothing came of it, because a rank is there: only the list tells.
    assert await talk.accepted(A) == base
    talk.clock.advance(5)
    assert sorted(await talk.rows()) == [f"{A}@1", B]


@pytest.mark.parametrize("version", LATER)
async def test_without_server_info_a_dp_aware_router_fails_after_two_and_a_half_seconds(version: str) -> None:
    talk = Talk(version, FakeEngine(A, tells_server_info=False), dp_aware=True)
    worker_id = await talk.accepted()
    talk.clock.advance(2.4)
    assert await talk.job(worker_id) == ("AddWorker", "processing")
    talk.clock.advance(0.2)
    if version == SMG:
        assert (await talk.one("GET", worker_id)).status_code == 404
    else:
        assert await talk.job(worker_id) == ("AddWorker", "failed")
    assert talk.router.workers == []


async def test_a_dp_aware_0_2_0_registers_one_entry_that_it_cannot_remove() -> None:
    talk = Talk("0.2.0", FakeEngine(A, dp_size=2), dp_aware=True)
    worker_id = await talk.accepted()
    talk.clock.advance(1)
    await talk.one("DELETE", worker_id)
    talk.clock.advance(1)
    shown = (await talk.one("GET", worker_id)).json()
    assert shown["job_status"]["message"] == f"No workers found with prefix {A}@"
    assert [worker.url for worker in talk.router.workers] == [A]


@pytest.mark.parametrize("version", ["0.2.2", "0.2.4", "0.3.0", "0.3.2"])
async def test_a_url_without_scheme_is_registered_under_an_id_that_was_not_told(version: str) -> None:
    talk = Talk(version)
    worker_id = await talk.accepted(A.removeprefix("http://"))
    talk.clock.advance(1)
    assert (await talk.one("GET", worker_id)).status_code == 404
    row = (await talk.rows())[A]
    assert (row["model_id"], row["is_healthy"], row["id"] == worker_id) == ("unknown", True, False)


@pytest.mark.parametrize("version", [v for v in ALL if v != SMG])
async def test_each_spelling_of_a_url_is_another_worker(version: str) -> None:
    talk = Talk(version)
    for url in (A, f"{A}/", A.replace("http://", "http://u:p@")):
        await talk.accepted(url)
    talk.clock.advance(1)
    assert len([worker for worker in talk.router.workers if worker.routable]) == 3


@pytest.mark.parametrize(("version", "slots"), [("0.2.0", 2), ("0.2.2", 10), ("0.3.2", 10)])
async def test_dead_urls_starve_everything_else_even_a_removal(version: str, slots: int) -> None:
    talk = Talk(version, startup_timeout_seconds=20)
    removed = await talk.accepted(B)
    talk.clock.advance(1)
    for port in range(slots):
        await talk.accepted(f"http://10.0.0.9:{port + 1}")
    waiting = await talk.accepted(A)
    await talk.one("DELETE", removed)
    talk.clock.advance(10)
    assert await talk.job(waiting) == ("AddWorker", "pending")
    assert await talk.job(removed) == ("RemoveWorker", "pending")
    assert [worker.url for worker in talk.router.workers if worker.routable] == [B]
    talk.clock.advance(40)
    assert [worker.url for worker in talk.router.workers if worker.routable] == [A]


async def test_smg_is_not_starved() -> None:
    talk = Talk(SMG)
    for port in range(12):
        await talk.accepted(f"http://10.0.0.9:{port + 1}")
    await talk.accepted(A)
    talk.clock.advance(0.3)
    assert [worker.url for worker in talk.router.workers] == [A]


@pytest.mark.parametrize(("version", "room"), [("0.2.0", 1002), ("0.2.2", 1010), ("0.2.4", 1011)])
async def test_a_full_queue_answers_nothing_and_leaves_a_phantom_record(version: str, room: int) -> None:
    talk = Talk(version, startup_timeout_seconds=600)
    post: Any = talk.router._model.register
    for port in range(room):
        assert post({"url": f"http://10.0.0.9:{port + 1}"}) is not None
    assert post({"url": A}) is None
    assert await talk.job(A) == ("AddWorker", "pending")
    talk.clock.advance(370)
    assert (await talk.one("GET", A)).status_code == 404
    assert A not in {worker.url for worker in talk.router.workers}


@pytest.mark.parametrize("version", ALL)
async def test_a_restart_loses_everything_and_gives_no_id_twice(version: str) -> None:
    talk = Talk(version)
    active, pending = await talk.accepted(A, priority=7), await talk.accepted(DEAD)
    talk.clock.advance(1)
    assert {worker.priority for worker in talk.router.workers if worker.url == A} == {7}
    talk.router.restart()
    gone = [event for event in talk.router.events if event.kind == "gone" and event.url == A]
    assert [(event.at_seconds, event.worker_id, event.priority) for event in gone] == [(1, active, 7)]
    assert await talk.rows() == {}
    assert (await talk.one("GET", active)).status_code == 404
    assert (await talk.one("GET", pending)).status_code == 404
    again = await talk.accepted(A)
    assert (again == active) is (version in URL_IDS)


async def test_registrations_fail_at_random_with_the_worker_listed_or_not() -> None:
    ends = set()
    for seed in range(60):
        talk = Talk("0.3.0", random_failure_rate=1.0, seed=seed)
        worker_id = await talk.accepted()
        talk.clock.advance(1)
        shown = (await talk.one("GET", worker_id)).json()
        assert shown["job_status"]["status"] == "failed"
        ends.add((shown["job_status"]["message"].rpartition("create_worker")[2][:16], bool(talk.router.workers)))
    assert ends == {(" - Worker http:/", True), (": Unknown error", False)}


async def test_removals_fail_at_random_with_the_worker_still_routed_to() -> None:
    messages = []
    for seed in range(40):
        talk = Talk("0.3.0", random_failure_rate=0.5, seed=seed)
        worker_id = await talk.accepted()
        talk.clock.advance(1)
        if not talk.router.workers:
            continue
        await talk.one("DELETE", worker_id)
        talk.clock.advance(1)
        job = (await talk.one("GET", worker_id)).json().get("job_status")
        messages.append(job["message"] if job else None)
        assert [worker.routable for worker in talk.router.workers] == ([True] if job else [])
    assert set(messages) == {None, "Workflow failed at step find_workers_to_remove: Unknown error"}


async def test_everything_random_follows_the_seed() -> None:
    ids = [[await Talk("0.3.2", seed=seed).accepted() for _ in range(2)] for seed in (1, 2)]
    assert ids[0][0] == ids[0][1] != ids[1][0]


@pytest.mark.parametrize("version", ALL)
async def test_the_events_tell_what_happened_in_order(version: str) -> None:
    talk = Talk(version)
    worker_id = await talk.accepted()
    talk.clock.advance(1)
    await talk.one("DELETE", worker_id)
    talk.clock.advance(6)
    drained = ["unhealthy", "draining"] if version == SMG else []
    assert [event.kind for event in talk.router.events] == ["listed", "healthy", *drained, "gone"]
    times = [event.at_seconds for event in talk.router.events]
    assert times == sorted(times)
    assert {(event.url, event.worker_id) for event in talk.router.events} == {(A, worker_id)}


def test_what_cannot_be_played_is_refused() -> None:
    with pytest.raises(ValueError, match=r"no profile for the router '0\.1\.9': known are 0\.2\.0, .*smg-1\.13\.0"):
        FakeRouter("0.1.9")
    with pytest.raises(ValueError, match="another engine is there"):
        FakeRouter(engines=[FakeEngine(A), FakeEngine(f"{A}/")])
    with pytest.raises(ValueError, match="it names no host and port"):
        FakeRouter(engines=[FakeEngine("http://h:1/v1")])
    with pytest.raises(ValueError, match="dp_size=0 is not allowed"):
        FakeEngine(A, dp_size=0)
    engine = FakeEngine(A)
    engine.becomes(Health.DOWN, at_seconds=5)
    with pytest.raises(ValueError, match=r"tell changes in order"):
        engine.becomes(Health.HEALTHY, at_seconds=4)
    assert RouterOptions().api_key is None
