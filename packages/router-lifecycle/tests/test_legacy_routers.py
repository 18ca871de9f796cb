"""Routers of the old kind: an answer comes when the work is done, and lists hold URLs only."""

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qs

import httpx
import pytest
from lifecycle_bench import ROUTER, SPEC, URL

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

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class LegacyRouter:
    """A router up to 0.2.1 (`rest`), or one that has /add_worker, /remove_worker and /list_workers only and proxies the rest."""

    def __init__(self, *, rest: bool = False, add: tuple[int, object] | None = None, works: bool = True) -> None:
        self.rest = rest
        self.add = add
        self.works = works
        self.urls: list[str] = []
        self.calls: list[str] = []
        self.wait: Callable[[], Awaitable[None]] | None = None

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        body = (await receive()).get("body", b"")
        path, method = scope["path"], scope["method"]
        url = parse_qs(scope["query_string"].decode()).get("url", [""])[0]
        self.calls.append(f"{method} {path}")
        if path == "/add_worker" and self.wait is not None:
            await self.wait()
        status, answer = self.answer(method, path, url, body)
        text = answer if isinstance(answer, str) else json.dumps(answer)
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": text.encode()})

    def answer(self, method: str, path: str, url: str, body: bytes) -> tuple[int, object]:
        if path == "/list_workers":
            return 200, {"urls": self.urls}
        if self.rest and path == "/workers":
            if method == "GET":
                return 200, {"workers": [{"url": one, "is_healthy": True} for one in self.urls]}
            self.urls.append(json.loads(body)["url"])
            return 200, {"success": True, "message": "Worker added", "worker": {}}
        if self.rest and path.startswith("/workers/"):
            return 404, {"error": "Worker not found", "code": "WORKER_NOT_FOUND"}
        if path == "/add_worker":
            if self.works:
                self.urls.append(url)
            return self.add or (200, f"Worker {url} added successfully")
        if path == "/remove_worker":
            if self.works:
                self.urls = [one for one in self.urls if one != url]
            return 200, f"Worker {url} removed successfully"
        return 404, {"detail": "Not Found"}


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
