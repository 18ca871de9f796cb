"""What goes wrong on the way to the fake router, in process and over a real socket."""

import asyncio
import socket
from collections.abc import AsyncIterator

import httpx
import pytest
from fake_router_talk import A, Talk

from router_lifecycle.testing import (
    FakeEngine,
    FakeRouter,
    Fault,
    ManualClock,
    Stage,
    delay,
    html_page,
    lose_answer,
    lose_request,
    reset,
    server_error,
    too_many_requests,
)
from router_lifecycle.testing.serving import serve


@pytest.mark.parametrize(
    ("fault", "error", "done"),
    [
        (lose_answer(), httpx.ReadTimeout, True),
        (lose_request(), httpx.ReadTimeout, False),
        (reset(), httpx.ReadError, False),
        (reset(Stage.AFTER), httpx.ReadError, True),
    ],
    ids=["lost answer", "lost request", "reset before", "reset after"],
)
async def test_a_lost_exchange_leaves_the_caller_in_the_dark(fault: Fault, error: type[Exception], done: bool) -> None:
    talk = Talk("0.3.2")
    talk.router.faults.add(fault, method="POST", path="/workers")
    with pytest.raises(error):
        await talk.clock.run(talk.post())
    talk.clock.advance(1)
    assert bool(talk.router.workers) is done
    assert [(seen.method, seen.path, seen.status) for seen in talk.router.requests] == [("POST", "/workers", None)]
    assert talk.router.requests[0].json() == {"url": A}
    assert talk.router.requests[0].router_status == (202 if done else None)


async def test_an_unanswered_call_ends_after_its_seconds_on_the_clock() -> None:
    talk = Talk("0.3.2")
    talk.router.faults.add(lose_answer(timeout_seconds=3))
    with pytest.raises(httpx.ReadTimeout):
        await talk.clock.run(talk.post())
    assert talk.clock() == 3


async def test_a_delayed_answer_is_the_one_from_before_the_delay() -> None:
    talk = Talk("0.3.2")
    worker_id = await talk.accepted()
    talk.router.faults.add(delay(2))
    shown = await talk.clock.run(talk.one("GET", worker_id))
    assert talk.clock() == 2
    assert shown.json()["job_status"]["status"] == "processing"
    assert await talk.job(worker_id) is None


@pytest.mark.parametrize(
    ("fault", "status", "content_type"),
    [
        (too_many_requests(7), 429, None),
        (server_error(502), 502, "text/plain; charset=utf-8"),
        (html_page(), 200, "text/html"),
        (html_page(503), 503, "text/html"),
    ],
    ids=["429", "502", "login page", "error page"],
)
async def test_someone_in_between_answers_instead(fault: Fault, status: int, content_type: str | None) -> None:
    talk = Talk("0.3.2")
    talk.router.faults.add(fault)
    answer = await talk.post()
    assert (answer.status_code, answer.headers.get("content-type")) == (status, content_type)
    assert answer.headers.get("retry-after") == ("7" if status == 429 else None)
    talk.clock.advance(1)
    assert talk.router.workers == []
    assert talk.router.requests[0].status == status


async def test_a_proxy_can_lose_the_answer_to_what_was_done() -> None:
    talk = Talk("0.3.2")
    talk.router.faults.add(server_error(504, Stage.AFTER))
    assert (await talk.post()).status_code == 504
    talk.clock.advance(1)
    assert [worker.url for worker in talk.router.workers] == [A]


async def test_a_fault_befalls_what_it_was_planned_for_and_no_more() -> None:
    talk = Talk("0.2.4")
    talk.router.faults.add(server_error(500), method="DELETE", times=2)
    talk.router.faults.add(server_error(501), path="/workers/*")
    talk.router.faults.add(server_error(502), path="/workers")
    talk.router.faults.add(server_error(503), method="GET")
    assert talk.router.faults.pending == 5
    statuses = [
        (await talk.one("DELETE", A)).status_code,
        (await talk.one("GET", A)).status_code,
        (await talk.post()).status_code,
        (await talk.one("DELETE", A)).status_code,
        (await talk.post()).status_code,
        (await talk.http.get("/workers")).status_code,
        (await talk.http.get("/workers")).status_code,
    ]
    assert statuses == [500, 501, 502, 500, 202, 503, 200]
    talk.router.faults.add(server_error(500), times=3)
    talk.router.faults.clear()
    assert (await talk.http.get("/workers")).status_code == 200
    with pytest.raises(ValueError, match="times=0 is not allowed"):
        talk.router.faults.add(reset(), times=0)


async def test_a_stopped_router_refuses_connections_and_a_restarted_one_answers() -> None:
    talk = Talk("0.3.2")
    await talk.accepted()
    talk.router.stop()
    with pytest.raises(httpx.ConnectError):
        await talk.http.get("/workers")
    assert talk.router.workers == []
    talk.router.restart()
    assert await talk.rows() == {}


async def test_a_request_is_seen_with_its_time_and_its_key() -> None:
    talk = Talk("0.3.2")
    talk.clock.advance(4)
    await talk.http.get("/workers?model=x", headers={"authorization": "Bearer k"})
    (seen,) = talk.router.requests
    assert (seen.at_seconds, seen.method, seen.path, seen.authorization, seen.status) == (
        4,
        "GET",
        "/workers",
        "Bearer k",
        200,
    )


class Served:
    """A fake router behind a socket, a client of it, and their clock, which the socket doesn't know."""

    def __init__(self, http: httpx.AsyncClient, router: FakeRouter, clock: ManualClock) -> None:
        self.http, self.router, self.clock = http, router, clock

    def routable(self) -> list[bool]:
        self.clock.advance(1)
        return [worker.routable for worker in self.router.workers]


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    clock = ManualClock()
    router = FakeRouter("0.3.2", engines=[FakeEngine(A)], clock=clock)
    async with serve(router) as url, httpx.AsyncClient(base_url=url, trust_env=False, timeout=30) as http:
        yield Served(http, router, clock)


async def test_over_a_socket_a_worker_comes_and_goes(served: Served) -> None:
    location = (await served.http.post("/workers", json={"url": A})).headers["location"]
    assert (await served.http.get(location)).json()["job_status"]["status"] == "processing"
    assert served.routable() == [True]
    assert "job_status" not in (await served.http.get(location)).json()
    assert (await served.http.delete(location)).status_code == 202
    assert served.routable() == []


@pytest.mark.parametrize("stage", Stage)
async def test_over_a_socket_a_reset_breaks_the_connection(served: Served, stage: Stage) -> None:
    served.router.faults.add(reset(stage), method="POST")
    with pytest.raises(httpx.TransportError):
        await served.http.post("/workers", json={"url": A})
    assert (await served.http.get("/workers")).status_code == 200
    assert served.routable() == ([True] if stage is Stage.AFTER else [])


async def test_over_a_socket_a_lost_answer_ends_with_the_time_out_of_the_client(served: Served) -> None:
    served.router.faults.add(lose_answer(), method="POST")
    with pytest.raises(httpx.ReadTimeout):
        await served.http.post("/workers", json={"url": A}, timeout=httpx.Timeout(30, read=0.1))
    assert served.routable() == [True]
    assert served.router.requests[0].status is None


async def test_over_a_socket_an_answer_is_late_until_the_clock_has_advanced(served: Served) -> None:
    served.router.faults.add(delay(2), method="GET")
    call = asyncio.create_task(served.http.get("/workers"))
    while not served.router.requests:  # noqa: ASYNC110 - a request on its way announces itself to nobody
        await asyncio.sleep(0)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2):
            await asyncio.shield(call)
    served.clock.advance(2)
    assert (await call).status_code == 200


async def test_over_a_socket_a_stopped_router_answers_nothing(served: Served) -> None:
    served.router.stop()
    with pytest.raises(httpx.TransportError):
        await served.http.get("/workers")
    served.router.restart()
    assert (await served.http.get("/workers")).status_code == 200


async def test_only_http_is_spoken() -> None:
    async def receive() -> dict[str, object]:
        return {}

    async def send(_: object) -> None:
        raise AssertionError

    with pytest.raises(RuntimeError, match="HTTP only, not 'websocket'"):
        await FakeRouter()({"type": "websocket"}, receive, send)


async def test_a_served_router_sends_its_answers_at_once() -> None:
    router = FakeRouter("0.3.2")
    async with serve(router) as url, httpx.AsyncClient(base_url=url, trust_env=False) as http:
        await http.get("/workers")
        (abort,) = router.aborts.values()
        transport = abort.__self__  # type: ignore[attr-defined]
        sending = transport.get_extra_info("socket")
        assert sending.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
