"""An API server by way of lightkube."""

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from http import HTTPStatus
from typing import Any, Final, TypeVar, cast

import httpx2
from lightkube import AsyncClient, KubeConfig
from lightkube.config import client_adapter
from lightkube.config.models import User
from lightkube.core.exceptions import ApiError
from lightkube.core.exceptions import ConfigError as LightkubeConfigError
from lightkube.generic_resource import create_namespaced_resource
from lightkube.resources.core_v1 import ConfigMap
from lightkube.types import PatchType
from msgspec import MsgspecError

from p2p_registry.errors import BackendError
from p2p_registry.kubernetes.api import EventType, ObjectList, WatchEvent
from p2p_registry.kubernetes.names import GROUP, KIND, PLURAL, VERSION
from p2p_registry.kubernetes.objects import Object

_T = TypeVar("_T")

_PAGE = 200
_WATCH_SECONDS = 240  # after which the server ends a connection, and the next one goes on from there
_ATTEMPTS = 4
_TIMEOUT_SECONDS = 10.0  # of a connection and between two pieces of an answer; a watch has no limit between pieces

_ModelMetadata = create_namespaced_resource(GROUP, VERSION, KIND, PLURAL)

_HINTS: Final = {
    HTTPStatus.UNAUTHORIZED: "the account's token isn't accepted",
    HTTPStatus.FORBIDDEN: "the account needs the Role that `p2p-registry manifest rbac` prints",
    HTTPStatus.NOT_FOUND: "the cluster needs the resource that `p2p-registry manifest crd` prints, and the namespace",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "the record is larger than an object may be",
    HTTPStatus.TOO_MANY_REQUESTS: "the API server has more requests than it takes; the next one may come through",
}


class LightkubeApi:
    """An `ObjectApi` over lightkube's client."""

    def __init__(self, namespace: str, *, config: KubeConfig | None = None) -> None:
        """Name the namespace; nothing is dialled yet.

        Args:
            namespace: Of all objects.
            config: The cluster; that of the service account or of the kubeconfig unless given.

        Raises:
            BackendError: There is no cluster configuration.
        """
        try:
            chosen = (KubeConfig.from_env() if config is None else config).get()
            assert chosen is not None  # without a default it raises instead
            user = chosen.user or User()
            chosen = chosen._replace(user=user)
            verify = client_adapter.verify_cluster(chosen.cluster, user, chosen.abs_file)
            transport = _Transport(httpx2.AsyncHTTPTransport(verify=verify))
            self._client = AsyncClient(
                chosen, namespace=namespace, timeout=httpx2.Timeout(_TIMEOUT_SECONDS), transport=transport
            )
            # For what lightkube's own client has no words for: the same connections, authentication and addresses.
            self._http = httpx2.AsyncClient(
                base_url=chosen.cluster.server,
                auth=client_adapter.user_auth(user),
                timeout=_TIMEOUT_SECONDS,
                transport=transport,
            )
        except (LightkubeConfigError, OSError) as error:
            raise BackendError(
                f"no Kubernetes cluster: {error}; run inside one with a service account, or set KUBECONFIG"
            ) from error
        self._namespace = namespace

    async def ping(self) -> None:
        """Ask for one worker's object."""
        with self._failures("can't be listed"):
            async for _ in self._client.list(_ModelMetadata, chunk_size=1):
                break

    async def list(self) -> ObjectList:
        """Return all workers' objects, however many pages they take."""
        listing = self._client.list(_ModelMetadata, chunk_size=_PAGE)
        with self._failures("can't be listed"):
            objects = [each async for each in listing]
            return ObjectList(version=int(listing.resourceVersion), objects=objects)

    async def watch(self, version: int) -> AsyncGenerator[WatchEvent]:
        """Yield what happens after a version, through any number of connections."""
        events = self._client.watch(_ModelMetadata, server_timeout=_WATCH_SECONDS, resource_version=str(version))
        with self._failures("can't be watched"):
            async with aclosing(cast("AsyncGenerator[tuple[str, Mapping[str, Any]]]", events)) as following:
                async for kind, each in following:
                    yield WatchEvent(kind=EventType(kind), object=each)

    async def get(self, name: str) -> Object | None:
        """Return a worker's object, or None."""
        with self._failures(f"{name} can't be read"):
            return await _unless(HTTPStatus.NOT_FOUND, lambda: self._client.get(_ModelMetadata, name))

    async def create(self, new: Object) -> Object | None:
        """Make a worker's object, or return None where there is one."""
        with self._failures(f"{new['metadata']['name']} can't be made"):
            return await _unless(HTTPStatus.CONFLICT, lambda: self._client.create(_ModelMetadata(**new)))

    async def patch(self, name: str, patch: Object) -> Object | None:
        """Patch a worker's object, or return None where there is none."""
        with self._failures(f"{name} can't be patched"):
            return await _unless(HTTPStatus.NOT_FOUND, lambda: self._patch(_ModelMetadata, name, patch))

    async def patch_status(self, name: str, patch: Object) -> Object | None:
        """Patch the status of a worker's object, or return None where it isn't the one that was read."""
        with self._failures(f"the status of {name} can't be patched"):
            return await _unless(
                HTTPStatus.NOT_FOUND,
                lambda: _unless(HTTPStatus.CONFLICT, lambda: self._patch(_ModelMetadata.Status, name, patch)),
            )

    async def delete(self, name: str, uid: str, version: int) -> bool:
        """Delete the very object; lightkube's own deletion takes no preconditions."""
        url = f"apis/{GROUP}/{VERSION}/namespaces/{self._namespace}/{PLURAL}/{name}"
        options = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": "Background",
            "preconditions": {"uid": uid, "resourceVersion": str(version)},
        }
        with self._failures(f"{name} can't be deleted"):
            answer = await self._http.request("DELETE", url, json=options)
            if answer.status_code in {HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT}:
                return False
            answer.raise_for_status()
            return True

    async def config_map(self, name: str) -> Mapping[str, str] | None:
        """Return the content of a ConfigMap, or None."""
        with self._failures(f"ConfigMap {name} can't be read"):
            found = await _unless(HTTPStatus.NOT_FOUND, lambda: self._client.get(ConfigMap, name))
            return None if found is None else found.data or {}

    async def write_config_map(self, config_map: Object) -> None:
        """Make a ConfigMap, or patch the one that there is."""
        name = config_map["metadata"]["name"]
        data = {key: value for key, value in config_map["data"].items() if value is not None}
        new = cast("ConfigMap", ConfigMap.from_dict(config_map | {"data": data}))
        with self._failures(f"ConfigMap {name} can't be written"):
            for _ in range(_ATTEMPTS):
                made = await _unless(HTTPStatus.CONFLICT, lambda: self._client.create(new))
                if made is not None:
                    return
                patched = await _unless(HTTPStatus.NOT_FOUND, lambda: self._patch(ConfigMap, name, config_map))
                if patched is not None:
                    return
        raise BackendError(f"ConfigMap {name} was made and removed {_ATTEMPTS} times before it could be written")

    async def aclose(self) -> None:
        """Let go of the connections."""
        await self._client.close()
        await self._http.aclose()

    async def _patch(self, resource: Any, name: str, patch: Object) -> Any:
        return await self._client.patch(resource, name, patch, patch_type=PatchType.MERGE)

    @contextmanager
    def _failures(self, what: str) -> Iterator[None]:
        """Tell whatever goes wrong between here and an API server's answer as a `BackendError`."""
        try:
            yield
        # An answer that isn't what an API server says makes the library fail in ways of its own; a token's file may be gone.
        except (httpx2.HTTPError, httpx2.StreamError, MsgspecError, LightkubeConfigError, OSError, ValueError) as error:
            raise BackendError(f"workers of namespace {self._namespace}: {what}: {_reason(error)}") from error


class _Transport(httpx2.AsyncBaseTransport):
    """Asks for bookmarks in every watch, which lightkube can't be told to, and gives every answer the header that it looks for."""

    def __init__(self, inner: httpx2.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.url.params.get("watch") == "true":
            request.url = request.url.copy_set_param("allowWatchBookmarks", "true")
        answer = await self._inner.handle_async_request(request)
        answer.headers.setdefault("content-type", "application/octet-stream")
        return answer

    async def aclose(self) -> None:
        await self._inner.aclose()


async def _unless(refusal: HTTPStatus, ask: Callable[[], Awaitable[_T]]) -> _T | None:
    """Return what is answered, or None where it is this refusal."""
    try:
        return await ask()
    except httpx2.HTTPStatusError as error:
        if _status(error) == refusal:
            return None
        raise


def _status(error: BaseException) -> int | None:
    # That of a watch's own ERROR event comes without a response.
    if isinstance(error, ApiError) and error.status.code is not None:
        return error.status.code
    return error.response.status_code if isinstance(error, httpx2.HTTPStatusError) else None


def _reason(error: Exception) -> str:
    code = _status(error)
    text = str(error) or type(error).__name__
    if isinstance(error, httpx2.HTTPStatusError) and not isinstance(error, ApiError):
        text = _message(error.response)
    if code is None:
        return text
    hint = _HINTS.get(HTTPStatus(code)) if code in HTTPStatus.__members__.values() else None
    return f"the API server answered {code}: {text}" + (f"; {hint}" if hint else "")


def _message(answer: httpx2.Response) -> str:
    try:
        return str(json.loads(answer.content)["message"])
    except (httpx2.StreamError, ValueError, KeyError, TypeError):
        return answer.reason_phrase or "no message"
