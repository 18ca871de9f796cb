"""Workers behind Services: the real client library against a small API server, which is tested first."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing

import httpx2
import pytest
from endpoint_slice_api import NAMESPACE, PATH, SliceApi, pod, slice_api
from lightkube import KubeConfig

from loadmonitor_router.discovery import KubernetesDiscovery
from loadmonitor_router.discovery._lightkube import LightkubeSlices
from loadmonitor_router.errors import ConfigError
from loadmonitor_router.snapshot import WorkerTarget
from loadmonitor_router.testing import ManualClock

SELECTOR = {"kubernetes.io/service-name": "workers"}


@pytest.fixture
async def api() -> AsyncIterator[SliceApi]:
    async with slice_api() as serving:
        yield serving


def discover(api: SliceApi, clock: ManualClock) -> KubernetesDiscovery:
    slices = LightkubeSlices(NAMESPACE, SELECTOR, config=KubeConfig.from_server(api.url))
    return KubernetesDiscovery(NAMESPACE, SELECTOR, api=slices, clock=clock)


def workers(*hosts: str) -> tuple[WorkerTarget, ...]:
    return tuple(WorkerTarget(url=f"http://{host}:30000", reporter=f"{host}:50061") for host in hosts)


async def test_the_fake_lists_pages_and_selects(api: SliceApi) -> None:
    for name in ("a", "b", "c"):
        api.put(name, pod("10.0.0.1"))
    api.put("other", pod("10.0.0.9"), labels={})
    async with httpx2.AsyncClient(base_url=api.url) as client:
        selector = "kubernetes.io/service-name=workers"
        first = (await client.get(PATH, params={"labelSelector": selector, "limit": "2"})).json()
        rest = (await client.get(PATH, params={"labelSelector": selector, "limit": "2", "continue": "2"})).json()
        assert [item["metadata"]["name"] for item in first["items"] + rest["items"]] == ["a", "b", "c"]
        assert first["metadata"] == {"resourceVersion": "104", "continue": "2"}
        assert "continue" not in rest["metadata"]
        assert (await client.get("/apis")).json()["code"] == 404


@pytest.mark.parametrize(
    ("bookmarks", "kinds"), [("true", ["DELETED", "BOOKMARK", "ADDED"]), ("false", ["DELETED", "ADDED"])]
)
async def test_the_fake_replays_and_marks(api: SliceApi, bookmarks: str, kinds: list[str]) -> None:
    api.put("a", pod("10.0.0.1"))
    api.delete("a")
    parameters = {"watch": "true", "resourceVersion": "101", "allowWatchBookmarks": bookmarks}
    async with httpx2.AsyncClient(base_url=api.url) as client, client.stream("GET", PATH, params=parameters) as answer:
        lines = answer.aiter_lines()
        found = [json.loads(await anext(lines))["type"]]
        api.bookmark()
        api.put("b")
        api.end_watches()
        found += [json.loads(line)["type"] async for line in lines]
    assert found == kinds


async def test_the_fake_forgets(api: SliceApi) -> None:
    api.put("a", pod("10.0.0.1"))
    api.delete("a")
    api.forget()
    async with httpx2.AsyncClient(base_url=api.url) as client:
        expired = (await client.get(PATH, params={"watch": "true", "resourceVersion": "101"})).json()
    assert (expired["type"], expired["object"]["code"]) == ("ERROR", 410)


async def test_pods_come_and_go_by_the_watch(api: SliceApi, clock: ManualClock) -> None:
    api.put("a", pod("10.0.0.1"))
    async with aclosing(discover(api, clock)) as discovery:
        assert await anext(discovery) == workers("10.0.0.1")
        api.put("b", pod("10.0.0.2"))
        assert await anext(discovery) == workers("10.0.0.1", "10.0.0.2")
        api.put("a", pod("10.0.0.1", terminating=True, ready=False), pod("10.0.0.3"))
        assert await anext(discovery) == workers("10.0.0.2", "10.0.0.3")
        api.put("a", pod("10.0.0.3"))  # nothing new
        api.delete("b")
        assert await anext(discovery) == workers("10.0.0.3")
        api.put("a", endpoints=None)
        assert await anext(discovery) == ()
    assert [("watch" in question) for question in api.asked] == [False, True]
    assert all(question["labelSelector"] == "kubernetes.io/service-name=workers" for question in api.asked)


async def test_a_watch_goes_on_after_the_bookmark_without_a_list(api: SliceApi, clock: ManualClock) -> None:
    api.put("a", pod("10.0.0.1"))
    async with aclosing(discover(api, clock)) as discovery:
        await anext(discovery)
        news = asyncio.ensure_future(anext(discovery))
        await api.questions(2)
        api.pass_unwatched(50)
        api.bookmark()
        api.forget()  # what went before the bookmark can't be gone on from
        api.end_watches()
        await api.questions(3)
        api.put("b", pod("10.0.0.2"))
        assert await news == workers("10.0.0.1", "10.0.0.2")
    assert [question.get("resourceVersion") for question in api.asked] == [None, "101", "151"]


async def test_what_happened_while_a_watch_had_expired_is_listed(api: SliceApi, clock: ManualClock) -> None:
    api.put("a", pod("10.0.0.1"))
    api.put("b", pod("10.0.0.2"))
    async with aclosing(discover(api, clock)) as discovery:
        await anext(discovery)
        news = asyncio.ensure_future(anext(discovery))
        await api.questions(2)
        api.deaf = True
        api.delete("a")
        api.put("c", pod("10.0.0.3"))
        api.forget()
        api.deaf = False
        api.end_watches()
        await clock.timer_within(1_000)
        clock.move(1_000)
        assert await news == workers("10.0.0.2", "10.0.0.3")
        assert discovery.last_error is None
    assert [("watch" in question) for question in api.asked] == [False, True, True, False]


async def test_a_connection_that_died_without_a_word_is_noticed(api: SliceApi, clock: ManualClock) -> None:
    api.put("a", pod("10.0.0.1"))
    async with aclosing(discover(api, clock)) as discovery:
        await anext(discovery)
        news = asyncio.ensure_future(anext(discovery))
        await api.questions(2)
        api.deaf = True
        api.put("a", pod("10.0.0.2"))
        await clock.timer_within(300_000)
        clock.move(300_000)
        assert await news == workers("10.0.0.2")


async def test_a_refusal_keeps_the_last_set_and_names_the_missing_right(api: SliceApi, clock: ManualClock) -> None:
    api.put("a", pod("10.0.0.1"))
    async with aclosing(discover(api, clock)) as discovery:
        await anext(discovery)
        news = asyncio.ensure_future(anext(discovery))
        await api.questions(2)
        api.refusal = (403, "endpointslices is forbidden")
        api.end_watches()
        for _ in range(2):
            await clock.timer_within(5_000)
            error = discovery.last_error or ""
            assert f"EndpointSlices of namespace {NAMESPACE} can't be" in error
            assert "a Role with get, list and watch on endpointslices" in error
            clock.move(5_000)
        assert not news.done()
        await clock.timer_within(5_000)
        api.refusal = None
        api.put("a", pod("10.0.0.2"))
        clock.move(5_000)
        assert await news == workers("10.0.0.2")
        assert discovery.last_error is None


async def test_a_slice_that_makes_no_sense_keeps_the_last_set_and_the_watch(api: SliceApi, clock: ManualClock) -> None:
    api.put("a", pod("10.0.0.1"))
    async with aclosing(discover(api, clock)) as discovery:
        await anext(discovery)
        news = asyncio.ensure_future(anext(discovery))
        await api.questions(2)
        api.put("a", pod("10.0.0.2"), ports=[])
        while not (error := discovery.last_error):  # noqa: ASYNC110 - nothing tells it
            await asyncio.sleep(0)
        assert "10.0.0.2 has the ports []: one named 'http' is needed" in error
        api.put("a", pod("10.0.0.2"))
        assert await news == workers("10.0.0.2")
    assert len(api.asked) == 2


async def test_a_long_list_comes_in_pages(api: SliceApi, clock: ManualClock) -> None:
    for number in range(501):
        api.put(f"slice-{number:03}", pod(f"10.0.{number // 250}.{number % 250}"))
    async with aclosing(discover(api, clock)) as discovery:
        assert len(await anext(discovery)) == 501
    assert [question.get("continue") for question in api.asked][:2] == [None, "500"]


async def test_a_cancelled_wait_goes_on_with_the_same_watch(api: SliceApi, clock: ManualClock) -> None:
    api.put("a", pod("10.0.0.1"))
    async with aclosing(discover(api, clock)) as discovery:
        await anext(discovery)
        waiting = asyncio.ensure_future(anext(discovery))
        await api.questions(2)
        waiting.cancel()
        await asyncio.wait({waiting})
        api.put("a", pod("10.0.0.2"))
        assert await anext(discovery) == workers("10.0.0.2")
    assert len(api.asked) == 2


async def test_closing_ends_a_wait_and_the_watch(api: SliceApi, clock: ManualClock) -> None:
    discovery = discover(api, clock)
    assert await anext(discovery) == ()
    waiting = asyncio.ensure_future(anext(discovery, None))
    await api.questions(2)
    await discovery.aclose()
    assert await waiting is None


def test_no_cluster_is_told_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "/nowhere/config")
    with pytest.raises(ConfigError, match=r"no Kubernetes cluster: .*set KUBECONFIG"):
        KubernetesDiscovery(NAMESPACE, SELECTOR)


def test_settings_are_checked() -> None:
    with pytest.raises(ConfigError, match="name a namespace and a label"):
        KubernetesDiscovery(NAMESPACE, {})
    with pytest.raises(ConfigError, match="resync_seconds=0 is not allowed"):
        KubernetesDiscovery(NAMESPACE, SELECTOR, resync_seconds=0)
