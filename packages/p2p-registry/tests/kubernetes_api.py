"""The part of a Kubernetes API server that holds ConfigMaps and one custom resource, on 127.0.0.1; for tests.

After https://kubernetes.io/docs/reference/using-api/api-concepts/ and the API conventions; `test_kubernetes_api.py` holds it to them.
What is kept outlives `stop`, as etcd outlives an API server.
"""

import asyncio
import json
import re
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from kubernetes_schema import as_stored, faults, fill_in, prune

Object = dict[str, Any]

NAMESPACE = "inference"
CONFIG_MAPS = f"/api/v1/namespaces/{NAMESPACE}/configmaps"

_LARGEST_REQUEST = 3 * 2**20
_LARGEST_OBJECT = 3 * 2**19  # etcd's own limit
_LARGEST_CONFIG_MAP = 2**20
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?")
_REASONS = {
    400: "BadRequest",
    404: "NotFound",
    409: "Conflict",
    410: "Expired",
    413: "RequestEntityTooLarge",
    415: "UnsupportedMediaType",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
}


class Refused(Exception):  # noqa: N818 - named for what happens
    """A request is answered with a Status of Failure."""

    def __init__(self, code: int, message: str, reason: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason or _REASONS[code]


@dataclass
class Resource:
    """One kind of object: its address, its schema where it is a custom one, and the objects."""

    api_version: str
    kind: str
    path: str
    schema: Object | None = None
    objects: dict[str, Object] = field(default_factory=dict)
    events: list[tuple[int, str, Object]] = field(default_factory=list)
    oldest: int = 0


@dataclass
class Request:
    """One request as it came."""

    method: str
    path: str
    parameters: dict[str, str]
    headers: dict[str, str]
    body: Any


class KubernetesApi:
    """An API server.

    Attributes:
        url: Where it listens.
        resource: The custom resource.
        requests: What was asked, bodies included.
        refuse: Asked for each request: the status, content type and content to answer with instead, or None to serve it.
        deaf: Watches hear nothing more.
    """

    def __init__(self, crd: Object) -> None:
        spec, version = crd["spec"], crd["spec"]["versions"][0]
        api_version = f"{spec['group']}/{version['name']}"
        path = f"/apis/{api_version}/namespaces/{NAMESPACE}/{spec['names']['plural']}"
        self.resource = Resource(api_version, spec["names"]["kind"], path, version["schema"]["openAPIV3Schema"])
        self._resources = [self.resource, Resource("v1", "ConfigMap", CONFIG_MAPS)]
        self.url = ""
        self.requests: list[Request] = []
        self.refuse: Callable[[Request], tuple[int, str | None, bytes] | None] = lambda _: None
        self.deaf = False
        self._version = 1000
        self._news = asyncio.Condition()
        self._watches: list[tuple[Resource, asyncio.Queue[bytes | None], dict[str, str]]] = []
        self._server: asyncio.Server | None = None
        self._serving: set[asyncio.Task[None]] = set()
        self._port = 0

    async def start(self) -> None:
        """Listen, where it did before."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port)
        self._port = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self._port}"

    async def stop(self) -> None:
        """Go away, with all connections."""
        assert self._server is not None
        self._server.close()
        for task in self._serving:
            task.cancel()
        if self._serving:
            await asyncio.wait(self._serving)
        await self._server.wait_closed()
        self._watches.clear()

    def kubeconfig(self) -> Object:
        """Return what a client finds the server by, without the system's certificates, which take longer to read than most tests."""
        cluster = {"name": "c", "cluster": {"server": self.url, "insecure-skip-tls-verify": True}}
        context = {"name": "c", "context": {"cluster": "c"}}
        return {"clusters": [cluster], "contexts": [context], "current-context": "c"}

    @property
    def newest(self) -> int:
        """The version of the custom resource's last change."""
        return self.resource.events[-1][0] if self.resource.events else 0

    @property
    def watching(self) -> int:
        """How many watches are open."""
        return len(self._watches)

    def config_maps(self) -> dict[str, Object]:
        """Return all ConfigMaps by name."""
        return self._resources[1].objects

    def collect_garbage(self) -> None:
        """Delete what had owners and has none any more, as the controller for it does after a while."""
        alive = {each["metadata"]["uid"] for resource in self._resources for each in resource.objects.values()}
        for resource in self._resources:
            for name, each in list(resource.objects.items()):
                owners = each["metadata"].get("ownerReferences", ())
                if owners and not any(owner["uid"] in alive for owner in owners):
                    self._remove(resource, name)

    def bookmark(self) -> None:
        """Tell the watches that asked for bookmarks how far they are."""
        for resource, queue, parameters in self._watches:
            if parameters.get("allowWatchBookmarks") == "true":
                metadata = {"resourceVersion": str(self._version), "creationTimestamp": None}
                empty = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}
                queue.put_nowait(_line("BOOKMARK", empty))

    def compact(self) -> None:
        """Forget what happened: no watch can go on from before the present version."""
        for resource in self._resources:
            resource.oldest = self._version

    def end_watches(self) -> None:
        """End the watches' connections, as after their time."""
        for _, queue, _ in self._watches:
            queue.put_nowait(None)
        self._watches.clear()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until a condition holds that requests bring about; each is looked at when it has come and when it is answered."""
        async with self._news:
            await self._news.wait_for(condition)

    def put(self, new: Object) -> Object:
        """Keep an object of the custom resource whatever its schema says, status included, as an older server may have."""
        name = new["metadata"]["name"]
        kept = self.resource.objects.get(name)
        uid = kept["metadata"]["uid"] if kept else str(uuid.uuid4())
        made = {"apiVersion": self.resource.api_version, "kind": self.resource.kind, **deepcopy(new)}
        made["metadata"] |= {"uid": uid, "namespace": NAMESPACE, "generation": 1}
        self._keep(self.resource, made, "MODIFIED" if kept else "ADDED")
        return made

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        try:
            while True:
                await self._answer(await _read(reader), writer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass  # the client or the server ends
        finally:
            self._serving.discard(task)
            writer.close()

    async def _answer(self, request: Request, writer: asyncio.StreamWriter) -> None:
        self.requests.append(request)
        await self._tell()
        refusal = self.refuse(request)
        if refusal is not None:
            _write(writer, *refusal)
        elif request.method == "GET" and request.parameters.get("watch") == "true":
            await self._watch(self._find(request.path)[0], request, writer)
        else:
            try:
                code, document = self._do(request)
            except Refused as refused:
                code, document = refused.code, _status(refused)
            _write(writer, code, "application/json", json.dumps(document).encode())
        await self._tell()

    async def _tell(self) -> None:
        async with self._news:
            self._news.notify_all()

    def _find(self, path: str) -> tuple[Resource, str, str]:
        for resource in self._resources:
            if path == resource.path or path.startswith(resource.path + "/"):
                name, _, subresource = path[len(resource.path) :].strip("/").partition("/")
                if subresource in ({"", "status"} if resource.schema else {""}):
                    return resource, name, subresource
        raise Refused(404, "the server could not find the requested resource")

    def _do(self, request: Request) -> tuple[int, Object]:
        resource, name, subresource = self._find(request.path)
        if request.body is not None and len(json.dumps(request.body)) > _LARGEST_REQUEST:
            raise Refused(413, f"Request entity too large: limit is {_LARGEST_REQUEST}")
        if request.method == "POST" and not name:
            return 201, self._create(resource, request.body)
        if request.method == "GET" and not name:
            return 200, self._list(resource, request.parameters)
        found = resource.objects.get(name)
        if found is None:
            raise Refused(404, f'{resource.path.rpartition("/")[2]} "{name}" not found')
        if request.method == "GET":
            return 200, found
        if request.method == "PATCH":
            return 200, self._patch(resource, found, subresource, request)
        if request.method == "DELETE":
            return 200, self._delete(resource, found, request.body or {})
        raise Refused(404, f"the server doesn't do {request.method} here")

    def _create(self, resource: Resource, new: Object) -> Object:
        made = deepcopy(new)
        metadata = made.setdefault("metadata", {})
        self._check_metadata(resource, metadata)
        if metadata["name"] in resource.objects:
            raise Refused(409, f'"{metadata["name"]}" already exists', "AlreadyExists")
        metadata.pop("resourceVersion", None)
        metadata |= {
            "uid": str(uuid.uuid4()),
            "namespace": NAMESPACE,
            "generation": 1,
            "creationTimestamp": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        if resource.schema:
            made.pop("status", None)  # it has an address of its own
        return self._keep(resource, self._checked(resource, made), "ADDED")

    def _patch(self, resource: Resource, found: Object, subresource: str, request: Request) -> Object:
        if request.headers.get("content-type") != "application/merge-patch+json":
            raise Refused(
                415, f"the body of the request was in an unknown format: {request.headers.get('content-type')}"
            )
        wanted_version = request.body.get("metadata", {}).get("resourceVersion")
        if wanted_version not in {None, found["metadata"]["resourceVersion"]}:
            raise Refused(
                409, "the object has been modified; please apply your changes to the latest version and try again"
            )
        patched = merge(deepcopy(found), request.body)
        if subresource == "status":
            patched = found | {"status": patched.get("status", {})}
        elif resource.schema:
            patched |= {"status": found["status"]} if "status" in found else {}
            if "status" not in found:
                patched.pop("status", None)
        fixed = {
            key: found["metadata"].get(key) for key in ("name", "namespace", "uid", "creationTimestamp", "generation")
        }
        patched["metadata"] = patched["metadata"] | fixed
        self._check_metadata(resource, patched["metadata"])
        patched = self._checked(resource, patched)
        patched["metadata"]["resourceVersion"] = found["metadata"]["resourceVersion"]
        if patched == found:
            return found
        if patched.get("spec") != found.get("spec"):
            patched["metadata"]["generation"] += 1
        return self._keep(resource, patched, "MODIFIED")

    def _delete(self, resource: Resource, found: Object, options: Object) -> Object:
        for key, wanted in options.get("preconditions", {}).items():
            if found["metadata"][key] != wanted:
                raise Refused(
                    409, f"Precondition failed: {key} in precondition: {wanted}, in object: {found['metadata'][key]}"
                )
        self._remove(resource, found["metadata"]["name"])
        return {"kind": "Status", "apiVersion": "v1", "status": "Success", "metadata": {}}

    def _check_metadata(self, resource: Resource, metadata: Object) -> None:
        name = metadata.get("name", "")
        if not _NAME.fullmatch(name) or len(name) > 253:
            raise Refused(
                422, f'{resource.kind} "{name}" is invalid: metadata.name: a lowercase RFC 1123 subdomain is needed'
            )
        for key, value in metadata.get("labels", {}).items():
            if not _LABEL_VALUE.fullmatch(value) or len(value) > 63:
                raise Refused(422, f'{resource.kind} "{name}" is invalid: metadata.labels: {key}={value!r}')
        for owner in metadata.get("ownerReferences", ()):
            if not all(owner.get(key) for key in ("apiVersion", "kind", "name", "uid")):
                raise Refused(422, f'{resource.kind} "{name}" is invalid: metadata.ownerReferences: {owner}')

    def _checked(self, resource: Resource, made: Object) -> Object:
        name, outer = made["metadata"]["name"], {key: made[key] for key in ("apiVersion", "kind", "metadata")}
        if outer["apiVersion"] != resource.api_version or outer["kind"] != resource.kind:
            raise Refused(400, f"{outer['apiVersion']} {outer['kind']} doesn't belong here")
        if resource.schema:
            inner = prune({key: value for key, value in made.items() if key not in outer}, resource.schema)
            fill_in(inner, resource.schema)
            if wrong := list(faults(inner, resource.schema)):
                raise Refused(422, f'{resource.kind} "{name}" is invalid: {"; ".join(wrong)}')
            made = outer | inner
        elif sum(len(value.encode()) for value in made.get("data", {}).values()) > _LARGEST_CONFIG_MAP:
            raise Refused(
                422, f'ConfigMap "{name}" is invalid: []: Too long: may not be more than {_LARGEST_CONFIG_MAP} bytes'
            )
        if len(json.dumps(made)) > _LARGEST_OBJECT:
            raise Refused(500, "etcdserver: request is too large")
        stored: Object = as_stored(made)
        return stored

    def _keep(self, resource: Resource, made: Object, kind: str) -> Object:
        self._version += 1
        made = made | {"metadata": made["metadata"] | {"resourceVersion": str(self._version)}}
        resource.objects[made["metadata"]["name"]] = made
        self._happened(resource, kind, made)
        return made

    def _remove(self, resource: Resource, name: str) -> None:
        self._version += 1
        gone = resource.objects.pop(name)
        gone = gone | {"metadata": gone["metadata"] | {"resourceVersion": str(self._version)}}
        self._happened(resource, "DELETED", gone)

    def _happened(self, resource: Resource, kind: str, found: Object) -> None:
        resource.events.append((self._version, kind, found))
        for watched, queue, parameters in self._watches:
            if watched is resource and not self.deaf and _selected(found, parameters):
                queue.put_nowait(_line(kind, found))

    def _list(self, resource: Resource, parameters: dict[str, str]) -> Object:
        names = [name for name in sorted(resource.objects) if _selected(resource.objects[name], parameters)]
        version, _, start = parameters.get("continue", f"{self._version}/").partition("/")
        if int(version) < resource.oldest:
            raise Refused(410, "The provided continue parameter is too old")
        rest = [name for name in names if name > start]
        size = int(parameters.get("limit", "0")) or len(rest)
        metadata = {"resourceVersion": version}
        if len(rest) > size:
            metadata["continue"] = f"{version}/{rest[size - 1]}"
        items = [resource.objects[name] for name in rest[:size]]
        return {
            "kind": f"{resource.kind}List", "apiVersion": resource.api_version, "metadata": metadata, "items": items,
        }  # fmt: skip

    async def _watch(self, resource: Resource, request: Request, writer: asyncio.StreamWriter) -> None:
        since = int(request.parameters.get("resourceVersion", "0"))
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n")
        queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        if since < resource.oldest:
            expired = Refused(410, f"too old resource version: {since} ({resource.oldest})")
            queue.put_nowait(_line("ERROR", _status(expired)))
            queue.put_nowait(None)
        else:
            for version, kind, found in resource.events:
                if version > since and _selected(found, request.parameters):
                    queue.put_nowait(_line(kind, found))
            self._watches.append((resource, queue, request.parameters))
        await writer.drain()
        await self._tell()
        try:
            while (line := await queue.get()) is not None:
                middle = len(line) // 2  # a chunk's border is no line's border
                for part in (line[:middle], line[middle:]):
                    writer.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
                    await writer.drain()
            writer.write(b"0\r\n\r\n")
        finally:
            self._watches = [watch for watch in self._watches if watch[1] is not queue]


def merge(target: Any, patch: Any) -> Any:
    """Apply a JSON merge patch, as RFC 7386 says."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge(result.get(key), value)
    return result


@asynccontextmanager
async def kubernetes_api(crd: Object) -> AsyncIterator[KubernetesApi]:
    """Run an API server, with one custom resource, on a free port."""
    api = KubernetesApi(crd)
    await api.start()
    try:
        yield api
    finally:
        await api.stop()


async def _read(reader: asyncio.StreamReader) -> Request:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.rstrip("\r\n").split("\r\n")
    method, target, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    content = await reader.readexactly(int(headers.get("content-length", "0")))
    address = urlsplit(target)
    parameters = {key: values[0] for key, values in parse_qs(address.query).items()}
    return Request(method, unquote(address.path), parameters, headers, json.loads(content) if content else None)


def _write(writer: asyncio.StreamWriter, code: int, content_type: str | None, content: bytes) -> None:
    head = f"HTTP/1.1 {code} {_REASONS.get(code, 'OK')}\r\ncontent-length: {len(content)}\r\n"
    head += "" if content_type is None else f"content-type: {content_type}\r\n"
    writer.write(head.encode() + b"\r\n" + content)


def _status(refused: Refused) -> Object:
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "message": str(refused),
        "reason": refused.reason,
        "code": refused.code,
        "metadata": {},
    }


def _line(kind: str, found: Object) -> bytes:
    return json.dumps({"type": kind, "object": found}).encode() + b"\n"


def _selected(found: Object, parameters: dict[str, str]) -> bool:
    wanted = [pair.split("=") for pair in parameters.get("labelSelector", "").split(",") if pair]
    return all(found["metadata"].get("labels", {}).get(key) == value for key, value in wanted)
