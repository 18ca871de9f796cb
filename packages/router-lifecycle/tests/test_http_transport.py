"""Requests over httpx: what is sent, and whether a request without an answer can have arrived."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest

from router_lifecycle import HttpxTransport, Request, TransportError

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
GET = Request("GET", "/workers")


class Echo:
    """An ASGI application that keeps what it was asked and answers with a redirect and a body."""

    def __init__(self) -> None:
        self.scopes: list[dict[str, Any]] = []
        self.bodies: list[bytes] = []

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        self.scopes.append(scope)
        self.bodies.append((await receive())["body"])
        headers = [(b"Location", b"/elsewhere"), (b"Retry-After", b"7")]
        await send({"type": "http.response.start", "status": 307, "headers": headers})
        await send({"type": "http.response.body", "body": b"moved \xff"})


def over(app: Any, **options: Any) -> HttpxTransport:
    client = httpx.AsyncClient(transport=httpx.ASGITransport(app=app))
    return HttpxTransport("http://router:30000/team/", client=client, **options)


async def test_a_request_goes_out_as_it_was_built_and_no_redirect_is_followed() -> None:
    echo = Echo()
    transport = over(echo, api_key="k")
    answer = await transport.send(Request("POST", "/workers/a%2Fb?c=d", {"url": "x"}), timeout_seconds=5)
    await transport.aclose()
    (scope,) = echo.scopes
    headers = dict(scope["headers"])
    assert (scope["method"], scope["raw_path"], scope["query_string"]) == ("POST", b"/team/workers/a%2Fb", b"c=d")
    assert headers[b"authorization"] == b"Bearer k"
    assert headers[b"content-type"] == b"application/json"
    assert echo.bodies == [b'{"url":"x"}']
    assert (answer.status, answer.headers["location"], answer.headers["retry-after"]) == (307, "/elsewhere", "7")
    assert answer.text.startswith("moved")


@pytest.mark.parametrize("api_key", [None, ""])
async def test_without_a_key_there_is_no_authorization_and_without_a_body_no_content_type(api_key: str | None) -> None:
    echo = Echo()
    transport = over(echo, api_key=api_key)
    await transport.send(GET, timeout_seconds=5)
    await transport.aclose()
    names = [name for name, _ in echo.scopes[0]["headers"]]
    assert b"authorization" not in names
    assert b"content-type" not in names


@pytest.mark.parametrize(
    ("error", "maybe_sent"),
    [
        (httpx.ConnectError("refused"), False),
        (httpx.ConnectTimeout("slow"), False),
        (httpx.PoolTimeout("busy"), False),
        (httpx.ReadTimeout("slow"), True),
        (httpx.ReadError("reset"), True),
        (httpx.WriteError("reset"), True),
        (httpx.WriteTimeout("slow"), True),
        (httpx.RemoteProtocolError("hung up"), True),
        (httpx.DecodingError("gzip"), True),
    ],
)
async def test_only_what_certainly_never_left_counts_as_not_sent(error: Exception, maybe_sent: bool) -> None:
    async def fail(_scope: object, _receive: object, _send: object) -> None:
        raise error

    transport = over(fail)
    with pytest.raises(TransportError) as caught:
        await transport.send(GET, timeout_seconds=5)
    await transport.aclose()
    assert caught.value.maybe_sent is maybe_sent
    assert type(error).__name__ in str(caught.value)


async def test_a_port_nobody_listens_on_is_not_sent() -> None:
    server = await asyncio.start_server(lambda _reader, writer: writer.close(), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    transport = HttpxTransport(f"http://127.0.0.1:{port}")
    with pytest.raises(TransportError) as caught:
        await transport.send(GET, timeout_seconds=5)
    assert caught.value.maybe_sent
    server.close()
    await server.wait_closed()
    with pytest.raises(TransportError) as caught:
        await transport.send(GET, timeout_seconds=5)
    assert not caught.value.maybe_sent
    await transport.aclose()
