"""Routers of the old kind: an answer comes when the work is done, and lists hold URLs only."""

import httpx
import pytest
from legacy_router import LegacyRouter
from lifecycle_bench import ROUTER, SPEC, URL
from pydantic import SecretStr

from router_lifecycle import (
    HttpxTransport,
    ReconciledState,
    RegistrationHandle,
    RegistrationLost,
    RouterLifecycleClient,
    RouterUnsupported,
    SubmissionRejected,
    SubmissionUnknown,
    WorkerSpec,
)
from router_lifecycle.testing import ManualClock


def connected(router: LegacyRouter) -> tuple[ManualClock, RouterLifecycleClient]:
    clock = ManualClock()
    http = httpx.AsyncClient(transport=httpx.ASGITransport(app=router))
    client = RouterLifecycleClient(
        ROUTER, transport=HttpxTransport(ROUTER, client=http), clock=clock, sleep=clock.sleep
    )
    return clock, client


async def test_a_worker_is_registered_and_removed_over_the_legacy_routes() -> None:
    router = LegacyRouter()
    clock, client = connected(router)
    worker = await clock.run(client.register(SPEC))
    assert router.urls == [URL]
    assert [call for call in router.calls if call.startswith("POST")] == ["POST /add_worker"]
    await clock.run(client.remove(worker))
    assert router.urls == []


async def test_a_200_that_says_success_is_a_synchronous_acceptance_and_is_not_submitted_again() -> None:
    router = LegacyRouter(rest=True)
    clock, client = connected(router)
    handle = await clock.run(client.submit(SPEC))
    assert handle.dialect == "sync"
    await clock.run(client.wait_until_active(handle))
    assert [call for call in router.calls if call.startswith("POST")] == ["POST /workers"]
    assert router.urls == [URL]


async def test_an_answer_that_an_engine_gave_through_the_router_is_no_acceptance() -> None:
    router = LegacyRouter(add=(200, {"text": "hi", "meta_info": {}}), works=False)
    clock, client = connected(router)
    handle = RegistrationHandle(router=client.router_url, spec=SPEC)
    with pytest.raises(SubmissionUnknown):
        await clock.run(client.register(handle))
    assert (await clock.run(client.reconcile(handle))).state is ReconciledState.UNRESOLVED


async def test_a_success_that_isnt_listed_is_no_success() -> None:
    router = LegacyRouter(works=False)
    clock, client = connected(router)
    with pytest.raises(RegistrationLost):
        await clock.run(client.register(SPEC))


async def test_a_removal_counts_when_the_url_is_gone_from_the_list_and_not_before() -> None:
    router = LegacyRouter()
    clock, client = connected(router)
    worker = await clock.run(client.register(SPEC))
    router.works = False
    with pytest.raises(TimeoutError):
        await clock.run(client.remove(worker, timeout=5))
    assert router.urls == [URL]


async def test_a_refusal_is_definite() -> None:
    router = LegacyRouter(add=(400, "Worker is not healthy"), works=False)
    clock, client = connected(router)
    with pytest.raises(SubmissionRejected, match="Worker is not healthy") as caught:
        await clock.run(client.register(SPEC))
    assert caught.value.safe_to_resubmit


async def test_a_spec_that_cant_be_told_is_refused_before_any_post() -> None:
    router = LegacyRouter()
    clock, client = connected(router)
    spec = WorkerSpec(url=URL, worker_type="prefill", bootstrap_port=8998)
    with pytest.raises(RouterUnsupported, match="takes a URL and nothing else"):
        await clock.run(client.register(spec))
    assert not [call for call in router.calls if call.startswith("POST")]


@pytest.mark.parametrize(
    "fields", [{"worker_type": "prefill", "bootstrap_port": 8998}, {"api_key": SecretStr("k-worker")}]
)
async def test_what_cant_be_told_costs_no_worker_that_is_there(fields: dict[str, object]) -> None:
    router = LegacyRouter()
    clock, client = connected(router)
    old = await clock.run(client.register(SPEC))
    spec = WorkerSpec.model_validate({"url": URL, **fields})
    for attempt in (client.replace(old, spec), client.register(spec, on_existing="replace")):
        with pytest.raises(RouterUnsupported, match="nothing was sent"):
            await clock.run(attempt)
    assert router.urls == [URL]
    assert "POST /remove_worker" not in router.calls


async def test_a_router_that_was_replaced_by_another_kind_is_found_out() -> None:
    router = LegacyRouter(rest=True)
    clock, client = connected(router)
    await clock.run(client.list_workers())
    router.rest = False
    router.calls.clear()
    await clock.run(client.register(SPEC))
    assert [call for call in router.calls if call.startswith("POST")] == ["POST /add_worker"]


async def test_a_router_that_answers_when_the_worker_is_up_gets_the_time_of_the_operation() -> None:
    router = LegacyRouter()
    clock, client = connected(router)
    router.wait = lambda: clock.sleep(90.0)
    worker = await clock.run(client.register(SPEC, timeout=240))
    assert worker.is_routable is False
    assert router.urls == [URL]
    assert 90.0 <= clock() < 100.0
