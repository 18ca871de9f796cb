"""Reading a request from an ASGI server and sending it an answer."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

from router_lifecycle.testing._answers import Answer
from router_lifecycle.testing._routes import Request

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]


async def read_request(scope: Scope, receive: Receive) -> Request:
    """Read a whole request."""
    body, is_more = b"", True
    while is_more:
        message = await receive()
        body += message.get("body", b"")
        is_more = message.get("more_body", False)
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
    raw_path: bytes = scope.get("raw_path") or scope["path"].encode()
    query: bytes = scope["query_string"]
    return Request(
        scope["method"], raw_path.partition(b"?")[0].decode("latin-1"), query.decode("latin-1"), headers, body
    )


async def send_answer(send: Send, answer: Answer) -> None:
    """Send a whole answer."""
    headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in answer.headers.items()]
    headers.append((b"content-length", str(len(answer.body)).encode()))
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})


async def disconnected(receive: Receive) -> None:
    """Wait until the client is gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
