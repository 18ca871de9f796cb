from collections.abc import Awaitable, Callable, MutableMapping
from router_lifecycle.testing._answers import Answer as Answer
from router_lifecycle.testing._routes import Request as Request
from typing import Any, TypeAlias

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]

async def read_request(scope: Scope, receive: Receive) -> Request: ...
async def send_answer(send: Send, answer: Answer) -> None: ...
async def disconnected(receive: Receive) -> None: ...
