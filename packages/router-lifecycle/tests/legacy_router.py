"""A router of the old kind, for tests: an answer comes when the work is done, and lists hold URLs only."""

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qs

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
        self.aborts: dict[object, Callable[[], None]] = {}

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
