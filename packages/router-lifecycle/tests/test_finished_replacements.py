"""A replacement that was stopped anywhere is finished with its handle, in another process too."""

import asyncio

import pytest
from lifecycle_bench import OTHER, SMG, SPEC, URL, VERSIONS, Bench
from pydantic import SecretStr

from router_lifecycle import (
    LifecycleEvent,
    NotSent,
    OperationTimeout,
    Phase,
    RegistrationFailed,
    RegistrationHandle,
    RemovalFailed,
    RemovalHandle,
    ReplacementHandle,
    RouterLifecycleClient,
    WorkerSpec,
)
from router_lifecycle.testing import FakeEngine, Health, RouterOptions, lose_answer


def replacement(client: RouterLifecycleClient, spec: WorkerSpec) -> ReplacementHandle:
    return ReplacementHandle(
        router=client.router_url,
        old=RemovalHandle(router=client.router_url, url=URL),
        new=RegistrationHandle(router=client.router_url, spec=spec),
    )


async def stopped(bench: Bench, spec: WorkerSpec, at: str) -> ReplacementHandle:
    """Run a replacement, cancel it at the first event of a kind, and return what another process makes of its dump."""

    def stop(event: LifecycleEvent) -> None:
        if event.kind == at:
            running.cancel()

    client = bench.client(on_event=stop)
    handle = replacement(client, spec)
    running = asyncio.ensure_future(client.finish_replacement(handle))
    await bench.run(asyncio.wait([running]))
    assert running.cancelled()
    assert handle.left != "nothing"
    return ReplacementHandle.model_validate_json(handle.model_dump_json())


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("at", ["submitting", "accepted", "active", "removing"])
async def test_one_that_was_stopped_is_finished_by_another_process_with_one_submission(version: str, at: str) -> None:
    bench = Bench(version, FakeEngine(URL), FakeEngine(OTHER))
    await bench.run(bench.client().register(SPEC))
    handle = await stopped(bench, WorkerSpec(url=OTHER), at)
    worker = await bench.run(bench.client().finish_replacement(handle))
    assert worker.url == OTHER
    assert bench.routable == [OTHER]
    assert bench.posts == 2


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("at", ["removing", "gone", "submitting", "accepted"])
async def test_one_in_place_that_was_stopped_is_finished_by_another_process(version: str, at: str) -> None:
    bench = Bench(version)
    await bench.run(bench.client().register(SPEC))
    handle = await stopped(bench, WorkerSpec(url=URL, priority=7), at)
    worker = await bench.run(bench.client().finish_replacement(handle))
    assert [row.priority for row in worker.rows] == [7]
    assert [worker.priority for worker in bench.router.workers] == [7]
    assert bench.posts == 2


async def test_what_is_left_is_said_at_each_step() -> None:
    engine = FakeEngine(OTHER, health=Health.LOADING)
    bench = Bench("0.3.2", FakeEngine(URL), engine)
    client = bench.client()
    await bench.run(client.register(SPEC))
    handle = replacement(client, WorkerSpec(url=OTHER))
    assert handle.left == f"{OTHER} isn't active (new) and {URL} isn't removed"
    with pytest.raises(OperationTimeout):
        await bench.run(client.finish_replacement(handle, timeout=5))
    assert handle.left == f"{OTHER} isn't active (accepted) and {URL} isn't removed"
    assert sorted(bench.routable) == [URL]
    engine.becomes(Health.HEALTHY, bench.clock())
    await bench.run(client.finish_replacement(handle))
    assert handle.left == "nothing"
    assert bench.routable == [OTHER]


async def test_a_lost_answer_to_the_new_ones_submission_is_found_out_before_anything_is_submitted_again() -> None:
    bench = Bench("0.2.4", FakeEngine(URL), FakeEngine(OTHER))
    client = bench.client()
    await bench.run(client.register(SPEC))
    bench.router.faults.add(lose_answer(), method="POST", path="/workers")
    handle = replacement(client, WorkerSpec(url=OTHER))
    await bench.run(asyncio.wait([asyncio.ensure_future(client.finish_replacement(handle))]))
    assert handle.new.phase is Phase.SUBMISSION_UNKNOWN
    await bench.run(client.finish_replacement(ReplacementHandle.model_validate_json(handle.model_dump_json())))
    assert bench.posts == 2
    assert bench.routable == [OTHER]


async def test_a_removal_that_the_router_failed_is_asked_for_again_by_who_finishes_and_nothing_is_submitted_again() -> (
    None
):
    failed = 0
    for seed in range(12):
        options = RouterOptions(random_failure_rate=0.4, seed=seed)
        bench = Bench("0.3.0", FakeEngine(URL), FakeEngine(OTHER), options=options)
        client = bench.client()
        handle = replacement(client, WorkerSpec(url=OTHER))
        try:
            await bench.run(client.register(SPEC))
            await bench.pass_time(1)
            for _ in range(10):
                try:
                    await bench.run(client.finish_replacement(handle))
                except RemovalFailed:
                    failed += 1
                    assert sorted(bench.routable) == [URL, OTHER]
                    assert handle.left == f"{URL} isn't removed"
                else:
                    break
        except RegistrationFailed:
            continue
        assert bench.routable == [OTHER]
        assert bench.posts == 2
    assert failed > 1


@pytest.mark.parametrize("version", ["0.2.4", "0.3.2", SMG])
async def test_a_key_that_a_dump_left_out_must_be_given_back_before_anything_is_removed_or_submitted(
    version: str,
) -> None:
    bench = Bench(version, FakeEngine(URL, api_key="k-worker"))
    client = bench.client()
    spec = WorkerSpec(url=URL, api_key=SecretStr("k-worker"), priority=7)
    await bench.run(client.register(WorkerSpec(url=URL, api_key=SecretStr("k-worker"))))
    dumped = replacement(client, spec).model_dump_json()
    assert "k-worker" not in dumped
    loaded = ReplacementHandle.model_validate_json(dumped)
    assert loaded.new.lacks_key
    for attempt in (client.finish_replacement(loaded), client.register(loaded.new, on_existing="replace")):
        with pytest.raises(NotSent, match="with_key") as caught:
            await bench.run(attempt)
        assert caught.value.safe_to_resubmit
    assert bench.routable == [URL]
    assert bench.sent("DELETE") == []
    keyed = loaded.model_copy(update={"new": loaded.new.with_key(SecretStr("k-worker"))})
    await bench.run(client.finish_replacement(keyed))
    assert [request.json().get("api_key") for request in bench.router.requests if request.method == "POST"] == [
        "k-worker",
        "k-worker",
    ]


async def test_a_handle_of_another_router_is_refused() -> None:
    bench = Bench()
    client = bench.client()
    handle = replacement(client, WorkerSpec(url=OTHER))
    handle.old = RemovalHandle(router="http://other:1", url=URL)
    with pytest.raises(ValueError, match="other:1"):
        await bench.run(client.finish_replacement(handle))
