"""Workers that a router knows, asked of a small HTTP server that answers as routers do."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial

import pytest

from loadmonitor_router._redaction import without_password
from loadmonitor_router.config import normalize_address
from loadmonitor_router.discovery import RouterDiscovery, parse_discovery, parse_worker_list
from loadmonitor_router.discovery.targets import worker_target
from loadmonitor_router.errors import ConfigError, WorkerListError
from loadmonitor_router.reports import WorkerType
from loadmonitor_router.snapshot import WorkerTarget
from loadmonitor_router.testing import ManualClock

pytestmark = pytest.mark.usefixtures("leaves_nothing")


def v02(url: str, **changes: object) -> dict[str, object]:
    """A worker as SGLang Router 0.2 lists it."""
    entry = {"id": url, "url": url, "model_id": "qwen3-0.6b", "priority": 50, "cost": 1.0, "worker_type": "regular"}
    return {**entry, "is_healthy": True, "load": 0, "connection_mode": "Http", "metadata": {}, **changes}


def v03(url: str, **changes: object) -> dict[str, object]:
    """A worker as SGLang Router 0.3 lists it."""
    rest = {"id": "7fd9dda4-323e-4bdd-a6ab-3b2cc56ff2a4", "connection_mode": "HTTP", "disable_health_check": False}
    return {**v02(url), **rest, **changes}


def smg(url: str, **changes: object) -> dict[str, object]:
    """A worker as SMG lists it."""
    entry = {
        "id": "01a22908-546e-7097-9042-56104f7508f5",
        "model_id": "qwen3-0.6b",
        "url": url,
        "runtime_type": "sglang",
    }
    rest = {"worker_type": "regular", "connection_mode": "http", "labels": {"dp_size": "1"}, "is_healthy": True}
    return {**entry, **rest, "status": "ready", "load": 0, "http2": False, "max_connection_attempts": 20, **changes}


def body(*workers: dict[str, object]) -> bytes:
    stats = {"prefill_count": 0, "decode_count": 0, "regular_count": len(workers)}
    return json.dumps({"workers": workers, "total": len(workers), "stats": stats}).encode()


@dataclass
class FakeRouter:
    """A router that answers what it is told to.

    Attributes:
        answers: Status and body by path; a path that isn't there is answered 404 with an empty body.
        seen: Path and key of each question.
        url: Where it listens.
    """

    answers: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    seen: list[tuple[str, str | None]] = field(default_factory=list)
    url: str = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := (await reader.readuntil(b"\r\n\r\n")).decode():
                path = head.split()[1]
                keys = [line[15:] for line in head.splitlines() if line.lower().startswith("authorization: ")]
                self.seen.append((path, keys[0] if keys else None))
                status, content = self.answers.get(path, (404, b""))
                head = f"HTTP/1.1 {status} Whatever\r\ncontent-length: {len(content)}\r\n\r\n"
                writer.write(head.encode() + content)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@pytest.fixture
async def router() -> AsyncIterator[FakeRouter]:
    fake = FakeRouter()
    server = await asyncio.start_server(fake.serve, "127.0.0.1", 0)
    fake.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    yield fake
    server.close()
    await server.wait_closed()
    for _ in range(5):
        await asyncio.sleep(0)


def worker(url: str, port: int = 50_061, worker_type: WorkerType = WorkerType.REGULAR) -> WorkerTarget:
    return WorkerTarget(url=url, reporter=f"127.0.0.1:{port}", worker_type=worker_type)


async def test_workers_come_and_go_with_the_routers_list(router: FakeRouter, clock: ManualClock) -> None:
    router.answers["/workers"] = (200, body())
    async with aclosing(RouterDiscovery(f"{router.url}/", clock=clock)) as discovery:
        assert await anext(discovery) == ()
        news = asyncio.ensure_future(anext(discovery))
        await clock.timer_within(2_000)
        clock.move(2_000)
        await clock.timer_within(2_000)
        assert not news.done()
        router.answers["/workers"] = (200, body(v03("http://127.0.0.1:50779")))
        clock.move(2_000)
        assert await news == (worker("http://127.0.0.1:50779"),)
        assert {path for path, _ in router.seen} == {"/workers"}


async def test_a_router_of_old_has_another_list(router: FakeRouter, clock: ManualClock) -> None:
    router.answers["/list_workers"] = (200, b'{"urls":["http://127.0.0.1:40543@1","http://127.0.0.1:40543@0"]}')
    async with aclosing(RouterDiscovery(router.url, clock=clock)) as discovery:
        assert await anext(discovery) == (worker("http://127.0.0.1:40543"),)


async def test_the_routers_key_is_sent(router: FakeRouter, clock: ManualClock) -> None:
    router.answers["/workers"] = (200, body())
    async with aclosing(RouterDiscovery(router.url, api_key="k", clock=clock)) as discovery:
        await anext(discovery)
    assert router.seen == [("/workers", "Bearer k")]


@pytest.mark.parametrize(
    ("status", "content", "why"),
    [
        (401, b"", "answered 401: give the router's API key"),
        (500, b"oops", "answered 500: an SGLang Router or SMG with a worker list is expected"),
        (404, b"", "/list_workers answered 404"),
        (200, b"<html>", "not JSON"),
        (200, b"[]", 'neither {"workers": [...]} nor {"urls": [...]}: \'[]\''),
        (200, b'{"urls": [null]}', "neither"),
        (200, b'{"workers": null}', "neither"),
        (200, b'{"workers": [{"id": "x"}]}', "a worker without url and worker_type"),
        (200, body(smg("http://127.0.0.1:1", worker_type="encode")), "worker_type 'encode' is not allowed"),
        (200, body(smg("http://a:1"), smg("http://A:1/")), "share the load reporter a:50061"),
        (200, body(smg("nowhere")), "the scheme is missing"),
    ],
)
async def test_an_answer_that_is_no_list_keeps_the_last_good_set(
    router: FakeRouter, clock: ManualClock, status: int, content: bytes, why: str
) -> None:
    router.answers["/workers"] = (200, body(v03("http://127.0.0.1:50779")))
    async with aclosing(RouterDiscovery(router.url, clock=clock)) as discovery:
        assert await anext(discovery) == (worker("http://127.0.0.1:50779"),)
        news = asyncio.ensure_future(anext(discovery))
        await clock.timer_within(2_000)
        router.answers["/workers"] = (status, content)
        clock.move(2_000)
        await clock.timer_within(2_000)
        assert not news.done()
        assert why in (discovery.last_error or "")
        assert router.url in (discovery.last_error or "")
        router.answers["/workers"] = (200, body())
        clock.move(2_000)
        assert await news == ()
        assert discovery.last_error is None


async def test_a_router_that_is_not_there_is_asked_again(clock: ManualClock) -> None:
    server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    server.close()
    await server.wait_closed()
    async with aclosing(RouterDiscovery(url, clock=clock)) as discovery:
        news = asyncio.ensure_future(anext(discovery, None))
        await clock.timer_within(2_000)
        assert (discovery.last_error or "").startswith(f"{url} can't be asked: ")
    assert await news is None


@pytest.mark.parametrize("url", ["router:30000", "ftp://router", "http://router:port"])
def test_a_router_needs_a_url(url: str) -> None:
    with pytest.raises(ConfigError, match="router URL"):
        RouterDiscovery(url)


def test_the_ranks_of_every_router_version_are_one_worker() -> None:
    old = body(v02("http://127.0.0.1:31938@1"), v02("http://127.0.0.1:31938@0"))
    base = {"dp_base_url": "http://127.0.0.1:26594", "dp_size": 2}
    new = body(*(smg(f"http://127.0.0.1:26594@{rank}", dp_rank=rank, **base) for rank in (0, 1)))
    assert parse_worker_list(old, 50_061) == (worker("http://127.0.0.1:31938"),)
    assert parse_worker_list(new, 50_061) == (worker("http://127.0.0.1:26594"),)


def test_prefill_and_decode_workers_are_told_apart_and_their_labels_name_their_reporters() -> None:
    prefill = v03("http://127.0.0.1:12415", worker_type="prefill", metadata={"loadmonitor_port": "50062"})
    decode = smg("http://127.0.0.1:12230", worker_type="decode", labels={"loadmonitor_port": "50063"})
    assert parse_worker_list(body(prefill, decode), 50_061) == (
        worker("http://127.0.0.1:12230", 50_063, WorkerType.DECODE),
        worker("http://127.0.0.1:12415", 50_062, WorkerType.PREFILL),
    )


def test_health_and_draining_are_the_reporters_business() -> None:
    entry = smg("http://127.0.0.1:55945", is_healthy=False, status="draining")
    assert parse_worker_list(body(entry), 50_061) == (worker("http://127.0.0.1:55945"),)


def test_what_was_posted_by_mistake_or_is_only_asked_for_is_no_worker() -> None:
    mistake = v02("not a url", is_healthy=False)
    pending = v02("http://127.0.0.1:36591", worker_type="unknown", is_healthy=False)
    assert parse_worker_list(body(mistake, pending, v02("http://127.0.0.1:1")), 50_061) == (
        worker("http://127.0.0.1:1"),
    )


@pytest.mark.parametrize("label", ["", "x", "-1", "0", "65536"])
def test_a_label_that_is_no_port_is_named(label: str) -> None:
    entry = smg("http://127.0.0.1:1", labels={"loadmonitor_port": label})
    with pytest.raises((ConfigError, WorkerListError), match="port"):
        parse_worker_list(body(entry), 50_061)


async def test_a_password_in_an_address_is_never_told(clock: ManualClock) -> None:
    texts = []
    for attempt in (
        partial(RouterDiscovery, "ftp://me:hush@router"),
        partial(RouterDiscovery, "http://me:hush@router:port"),
        partial(parse_discovery, "redis:http://me:hush@router"),
        partial(worker_target, "ftp://me:hush@10.0.0.1:30000", 50_061),
        partial(normalize_address, "me:hush@10.0.0.1:30000"),
        partial(parse_worker_list, b'{"workers": [{"url": "http://me:hush@10.0.0.1:1"}]}', 50_061),
    ):
        with pytest.raises((ConfigError, WorkerListError)) as caught:
            attempt()
        texts.append(str(caught.value))
    async with aclosing(RouterDiscovery("http://me:hush@127.0.0.1:1", clock=clock)) as discovery:
        news = asyncio.ensure_future(anext(discovery, None))
        await clock.timer_within(2_000)
        texts.append(discovery.last_error or "")
    await news
    assert not [text for text in texts if "hush" in text or "***@" not in text]


def test_a_rank_at_the_end_of_an_address_is_no_password() -> None:
    assert without_password("http://10.0.0.1:30000@3") == "http://10.0.0.1:30000@3"
    assert without_password("http://me@10.0.0.1:30000@3, http://b") == "http://***@10.0.0.1:30000@3, http://b"
