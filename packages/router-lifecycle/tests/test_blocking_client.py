"""The blocking client: the same calls over a real socket, from threads with and without an event loop."""

import asyncio
import inspect
import signal
import threading
import time
from collections.abc import Iterator

import pytest
from lifecycle_bench import URL

from router_lifecycle import (
    AlreadyRegistered,
    HttpxTransport,
    LifecycleEvent,
    NotSent,
    Phase,
    RegistrationHandle,
    RouterLifecycleClient,
    SubmissionUnknown,
    SyncRouterLifecycleClient,
    WorkerSpec,
)
from router_lifecycle.testing import FakeEngine, FakeRouter, Health, lose_answer
from router_lifecycle.testing.serving import serve

SPEC = WorkerSpec(url=URL)


@pytest.fixture
def served() -> Iterator[tuple[FakeRouter, str]]:
    """A fake router on a real socket, in a loop and thread of its own."""
    router = FakeRouter("0.3.2", engines=[FakeEngine(URL)], clock=time.monotonic)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    serving = serve(router)
    url = asyncio.run_coroutine_threadsafe(serving.__aenter__(), loop).result(30)
    yield router, url
    asyncio.run_coroutine_threadsafe(serving.__aexit__(None, None, None), loop).result(30)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def public_methods(kind: type) -> dict[str, inspect.Signature]:
    return {
        name: inspect.signature(member).replace(return_annotation=inspect.Signature.empty)
        for name, member in vars(kind).items()
        if inspect.isfunction(member) and not name.startswith("_")
    }


def test_it_has_the_calls_of_the_asynchronous_client_with_the_same_arguments() -> None:
    blocking, other = public_methods(SyncRouterLifecycleClient), public_methods(RouterLifecycleClient)
    assert blocking.pop("close").parameters.keys() == other.pop("aclose").parameters.keys()
    assert blocking == other


def test_its_constructor_takes_the_same_but_for_the_clocks() -> None:
    blocking = inspect.signature(SyncRouterLifecycleClient).parameters
    other = dict(inspect.signature(RouterLifecycleClient).parameters)
    for clock in ("clock", "sleep", "wall_clock", "random"):
        del other[clock]
    assert dict(blocking) == other


def test_a_worker_is_registered_and_removed_without_an_event_loop(served: tuple[FakeRouter, str]) -> None:
    router, url = served
    with SyncRouterLifecycleClient(url) as client:
        worker = client.register(SPEC, timeout=30)
        assert [listed.url for listed in client.list_workers()] == [URL]
        assert client.observe(worker).rows
        with pytest.raises(AlreadyRegistered):
            client.register(SPEC, timeout=30)
        client.remove(worker, timeout=30)
    assert router.workers == []


def test_every_other_call_arrives_too(served: tuple[FakeRouter, str]) -> None:
    _, url = served
    with SyncRouterLifecycleClient(url) as client:
        handle = client.submit(SPEC)
        assert client.reconcile(handle).handle is handle
        worker = client.wait_until_active(handle, timeout=30)
        assert client.update(worker, priority=7).rows[0].priority == 7
        assert client.replace(worker, WorkerSpec(url=URL, priority=3), timeout=30).rows[0].priority == 3
        removal = client.submit_removal(URL)
        client.wait_until_absent(removal, timeout=30)
        client.watch_for_ghost(removal)
        assert [result.worker is not None for result in client.register_many([SPEC], timeout=30)] == [True]


async def test_it_may_be_used_in_a_thread_with_an_event_loop(served: tuple[FakeRouter, str]) -> None:
    router, url = served
    with SyncRouterLifecycleClient(url) as client:
        client.register(SPEC, timeout=30)
    assert [worker.url for worker in router.workers] == [URL]


async def other_tasks() -> int:
    return len(asyncio.all_tasks()) - 1


def test_an_interrupted_call_ends_and_leaves_a_truthful_handle(served: tuple[FakeRouter, str]) -> None:
    router, url = served
    router.faults.add(lose_answer(), method="POST")

    def interrupt(event: object) -> None:
        if getattr(event, "kind", None) == "submitting":
            threading.Timer(0.2, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT)).start()

    with SyncRouterLifecycleClient(url, on_event=interrupt, request_timeout_seconds=30) as client:
        handle = RegistrationHandle(router=url, spec=SPEC)
        with pytest.raises(KeyboardInterrupt):
            client.submit(handle)
        assert handle.phase is Phase.SUBMISSION_UNKNOWN
        assert asyncio.run_coroutine_threadsafe(other_tasks(), client._loop).result(30) == 0
        with pytest.raises(SubmissionUnknown):
            client.submit(handle)


def test_closing_ends_the_thread_and_a_closed_client_says_so() -> None:
    before = threading.active_count()
    client = SyncRouterLifecycleClient("http://127.0.0.1:9")
    with pytest.raises(NotSent):
        client.submit(SPEC, timeout=0.5)
    client.close()
    client.close()
    assert threading.active_count() == before
    with pytest.raises(RuntimeError, match="is closed"):
        client.list_workers()


def test_closing_ends_the_calls_that_other_threads_wait_for(served: tuple[FakeRouter, str]) -> None:
    router, url = served
    router.add_engine(FakeEngine("http://10.0.0.9:1", health=Health.LOADING))
    pending = threading.Event()
    errors: list[str] = []

    def note(event: LifecycleEvent) -> None:
        if event.kind == "pending":
            pending.set()

    client = SyncRouterLifecycleClient(url, on_event=note)
    handle = RegistrationHandle(router=url, spec=WorkerSpec(url="http://10.0.0.9:1"))

    def register() -> None:
        try:
            client.register(handle, timeout=60)
        except RuntimeError as error:
            errors.append(str(error))

    caller = threading.Thread(target=register, daemon=True)
    caller.start()
    assert pending.wait(30)
    client.close()
    caller.join(30)
    assert not caller.is_alive()
    assert errors == [f"the client of {url} was closed during this call; its handle tells how far it came"]
    assert handle.phase is Phase.ACCEPTED


def test_a_listener_that_calls_its_own_client_is_told_instead_of_blocking_forever(
    served: tuple[FakeRouter, str],
) -> None:
    _, url = served
    refused: list[bool] = []

    def call_back(event: LifecycleEvent) -> None:
        if event.kind == "accepted":
            for call in (client.list_workers, client.close):
                with pytest.raises(RuntimeError, match="by its own listener") as caught:
                    call()
                refused.append(url in str(caught.value))

    with SyncRouterLifecycleClient(url, on_event=call_back) as client:
        assert client.register(SPEC, timeout=30).is_routable
    assert refused == [True, True]


@pytest.mark.parametrize("key", ["s3cret\n", "s3cr\u00e9t", "s3 cret"])
def test_a_router_key_that_no_header_carries_is_refused_at_once_and_not_repeated(key: str) -> None:
    with pytest.raises(ValueError, match="strip it") as caught:
        RouterLifecycleClient("http://127.0.0.1:9", api_key=key)
    assert key.strip() not in str(caught.value)


async def test_a_proxy_in_the_environment_is_passed_by(
    served: tuple[FakeRouter, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, url = served
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    async with RouterLifecycleClient(url) as client:
        assert await client.list_workers() == []
    async with RouterLifecycleClient(url, trust_env=True) as client:
        with pytest.raises(TimeoutError):
            await client.list_workers(timeout=0.5)


async def test_a_key_and_a_transport_are_not_both_given() -> None:
    transport = HttpxTransport("http://127.0.0.1:9")
    with pytest.raises(ValueError, match="give them to yours"):
        RouterLifecycleClient("http://127.0.0.1:9", api_key="k", transport=transport)
    await transport.aclose()


@pytest.mark.parametrize(
    "bound", ["request_timeout_seconds", "worker_startup_timeout_seconds", "unreachable_budget_seconds"]
)
def test_a_bound_that_is_none_is_refused(bound: str) -> None:
    with pytest.raises(ValueError, match="more than 0 seconds"):
        RouterLifecycleClient("http://127.0.0.1:9", **{bound: 0})  # type: ignore[arg-type]


async def test_real_time_passes_too(served: tuple[FakeRouter, str]) -> None:
    router, url = served
    engine = FakeEngine("http://10.0.0.9:1", health=Health.LOADING)
    engine.becomes(Health.HEALTHY, time.monotonic() + 0.3)
    router.add_engine(engine)
    async with RouterLifecycleClient(url) as client:
        assert (await client.register(WorkerSpec(url=engine.url), timeout=30)).is_routable
    assert len(asyncio.all_tasks()) == 1
