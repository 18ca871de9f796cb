"""The part of a Kubernetes API server that lists and watches EndpointSlices, on 127.0.0.1; for tests."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

NAMESPACE = "inference"
PATH = f"/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices"

_TYPE = {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice"}


def pod(address: str, *, uid: str | None = None, **conditions: bool | None) -> dict[str, Any]:
    """An endpoint as the EndpointSlice controller writes it."""
    said = {"ready": True, "serving": True, "terminating": False, **conditions}
    target = {"kind": "Pod", "namespace": NAMESPACE, "name": f"pod-{address}", "uid": uid or f"uid-{address}"}
    return {"addresses": [address], "conditions": said, "nodeName": "node-a", "targetRef": target}


class SliceApi:
    """An API server.

    Attributes:
        url: Where it listens.
        asked: The parameters of each question; those of a watch hold `watch`.
        refusal: Status and message that every question is answered with; None to serve.
        deaf: Watches that are open hear nothing more.
    """

    def __init__(self) -> None:
        self.url = ""
        self.asked: list[dict[str, str]] = []
        self.refusal: tuple[int, str] | None = None
        self.deaf = False
        self._news = asyncio.Condition()
        self._version = 100
        self._oldest = 0
        self._slices: dict[str, dict[str, Any]] = {}
        self._events: list[tuple[int, dict[str, Any]]] = []
        self._watches: list[tuple[asyncio.Queue[bytes | None], dict[str, str]]] = []

    def put(self, name: str, *endpoints: dict[str, Any], labels: dict[str, str] | None = None, **changes: Any) -> None:
        """Create or replace a slice."""
        kind = "MODIFIED" if name in self._slices else "ADDED"
        ports = [{"name": "http", "port": 30_000, "protocol": "TCP"}, {"name": "lm-grpc", "port": 50_061}]
        self._version += 1
        self._slices[name] = {
            **_TYPE,
            "metadata": self._metadata(name, {"kubernetes.io/service-name": "workers"} if labels is None else labels),
            "addressType": "IPv4",
            "endpoints": list(endpoints),
            "ports": ports,
            **changes,
        }
        self._tell(kind, self._slices[name])

    def delete(self, name: str) -> None:
        """Delete a slice."""
        self._version += 1
        gone = self._slices.pop(name)
        self._tell("DELETED", {**gone, "metadata": {**gone["metadata"], "resourceVersion": str(self._version)}})

    def bookmark(self) -> None:
        """Tell the watches that asked for bookmarks how far they are."""
        metadata = {"creationTimestamp": None, "resourceVersion": str(self._version)}
        empty = {**_TYPE, "metadata": metadata, "addressType": "", "endpoints": None, "ports": None}
        for queue, parameters in self._watches:
            if parameters.get("allowWatchBookmarks") == "true":
                queue.put_nowait(_line("BOOKMARK", empty))

    def pass_unwatched(self, versions: int) -> None:
        """Let other objects of the cluster change so often."""
        self._version += versions

    def forget(self) -> None:
        """Compact: no watch can go on from before the present version."""
        self._oldest = self._version

    def end_watches(self) -> None:
        """End the watches' connections, as after their time."""
        for queue, _ in self._watches:
            queue.put_nowait(None)
        self._watches.clear()

    async def questions(self, number: int) -> None:
        """Wait until so many questions have come, and the newest is being served."""
        async with self._news:
            await self._news.wait_for(lambda: len(self.asked) >= number)

    def _metadata(self, name: str, labels: dict[str, str]) -> dict[str, Any]:
        return {"name": name, "namespace": NAMESPACE, "labels": labels, "resourceVersion": str(self._version)}

    def _tell(self, kind: str, found: dict[str, Any]) -> None:
        event = {"type": kind, "object": found}
        self._events.append((self._version, event))
        for queue, parameters in self._watches:
            if not self.deaf and _selected(found, parameters):
                queue.put_nowait(_line(kind, found))

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        try:
            while True:
                target = (await reader.readuntil(b"\r\n\r\n")).decode().split()[1]
                parameters = {key: values[0] for key, values in parse_qs(urlsplit(target).query).items()}
                async with self._news:
                    self.asked.append(parameters)
                    self._news.notify_all()
                if self.refusal is not None or unquote(urlsplit(target).path) != PATH:
                    code, message = self.refusal or (404, "the server could not find the requested resource")
                    _reply(writer, code, _status(code, message))
                elif parameters.get("watch") == "true":
                    await self._watch(writer, parameters)
                else:
                    _reply(writer, 200, self._list(parameters))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def _list(self, parameters: dict[str, str]) -> dict[str, Any]:
        names = [name for name in sorted(self._slices) if _selected(self._slices[name], parameters)]
        start, size = int(parameters.get("continue", "0")), int(parameters.get("limit", "0")) or len(names)
        metadata = {"resourceVersion": str(self._version)}
        if start + size < len(names):
            metadata["continue"] = str(start + size)
        items = [self._slices[name] for name in names[start : start + size]]
        return {"kind": "EndpointSliceList", "apiVersion": "discovery.k8s.io/v1", "metadata": metadata, "items": items}

    async def _watch(self, writer: asyncio.StreamWriter, parameters: dict[str, str]) -> None:
        since = int(parameters.get("resourceVersion", "0"))
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n")
        queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        if since < self._oldest:
            queue.put_nowait(_line("ERROR", _status(410, f"too old resource version: {since} ({self._oldest})")))
            queue.put_nowait(None)
        else:
            for version, event in self._events:
                if version > since and _selected(event["object"], parameters):
                    queue.put_nowait(_line(event["type"], event["object"]))
            self._watches.append((queue, parameters))
        while (line := await queue.get()) is not None:
            middle = len(line) // 2  # a chunk's border is no line's border
            for part in (line[:middle], line[middle:]):
                writer.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
                await writer.drain()
        writer.write(b"0\r\n\r\n")


@asynccontextmanager
async def slice_api() -> AsyncIterator[SliceApi]:
    """Run an API server on a free port."""
    api = SliceApi()
    serving: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        serving.add(task)
        await api.serve(reader, writer)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    api.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield api
    finally:
        api.end_watches()
        server.close()
        await server.wait_closed()
        for task in serving:
            task.cancel()
        if serving:
            await asyncio.wait(serving)


def _selected(found: dict[str, Any], parameters: dict[str, str]) -> bool:
    wanted = [pair.split("=") for pair in parameters.get("labelSelector", "").split(",") if pair]
    return all(found["metadata"]["labels"].get(key) == value for key, value in wanted)


def _line(kind: str, found: dict[str, Any]) -> bytes:
    return json.dumps({"type": kind, "object": found}).encode() + b"\n"


def _status(code: int, message: str) -> dict[str, Any]:
    return {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "code": code, "metadata": {}}


def _reply(writer: asyncio.StreamWriter, code: int, document: dict[str, Any]) -> None:
    content = json.dumps(document).encode()
    head = f"HTTP/1.1 {code} Whatever\r\ncontent-type: application/json\r\ncontent-length: {len(content)}\r\n\r\n"
    writer.write(head.encode() + content)
