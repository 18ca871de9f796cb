"""EndpointSlices by way of lightkube."""

from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import aclosing
from http import HTTPStatus
from typing import Any, cast

import httpx2
from lightkube import AsyncClient, KubeConfig
from lightkube.config.client_adapter import verify_cluster
from lightkube.config.models import User
from lightkube.core.exceptions import ApiError
from lightkube.core.exceptions import ConfigError as LightkubeConfigError
from lightkube.operators import Operator
from lightkube.resources.discovery_v1 import EndpointSlice as ApiSlice

from loadmonitor_router.discovery.interfaces import SliceEvent, SliceEventType
from loadmonitor_router.discovery.slices import EndpointSlice, SliceEndpoint
from loadmonitor_router.errors import ConfigError, DiscoveryError, WatchExpiredError

_PAGE = 500
_WATCH_SECONDS = 240  # after which the server ends a connection, and the next one goes on from there


class LightkubeSlices:
    """An EndpointSliceApi over lightkube's client."""

    def __init__(self, namespace: str, selector: Mapping[str, str], *, config: KubeConfig | None = None) -> None:
        """Name the slices; nothing is dialled yet.

        Args:
            namespace: Theirs.
            selector: Their labels.
            config: The cluster; that of the service account or of the kubeconfig unless given.

        Raises:
            ConfigError: There is no cluster configuration.
        """
        try:
            chosen = (KubeConfig.from_env() if config is None else config).get()
            assert chosen is not None  # without a default it raises instead
            user = chosen.user or User()
            verify = verify_cluster(chosen.cluster, user, chosen.abs_file)
            transport = _AskForBookmarks(httpx2.AsyncHTTPTransport(verify=verify))
            self._client = AsyncClient(chosen._replace(user=user), transport=transport)
        except (LightkubeConfigError, OSError) as error:
            raise ConfigError(
                f"no Kubernetes cluster: {error}; run inside one with a service account, or set KUBECONFIG"
            ) from error
        self._namespace = namespace
        self._selector: dict[str, str | Operator[Any] | Iterable[Any] | None] = dict(selector)

    async def list(self) -> tuple[str, tuple[EndpointSlice, ...]]:
        """Return the resource version of the list, and all slices."""
        listing = self._client.list(ApiSlice, namespace=self._namespace, labels=self._selector, chunk_size=_PAGE)
        try:
            slices = tuple([_slice(each) async for each in listing])
        except httpx2.HTTPError as error:
            raise self._failure("listed", error) from error
        return listing.resourceVersion, slices

    async def watch(self, resource_version: str) -> AsyncGenerator[SliceEvent]:
        """Yield what happens after a resource version, through any number of connections."""
        events = self._client.watch(
            ApiSlice,
            namespace=self._namespace,
            labels=self._selector,
            server_timeout=_WATCH_SECONDS,
            resource_version=resource_version,
        )
        try:
            async with aclosing(cast("AsyncGenerator[tuple[str, ApiSlice]]", events)) as following:
                async for kind, each in following:
                    yield SliceEvent(SliceEventType(kind), _slice(each))
        except httpx2.HTTPError as error:
            raise self._failure("watched", error) from error

    async def aclose(self) -> None:
        """Let go of the connections."""
        await self._client.close()

    def _failure(self, what: str, error: httpx2.HTTPError) -> DiscoveryError:
        code = _status(error)
        text = f"EndpointSlices of namespace {self._namespace} can't be {what}: {str(error) or type(error).__name__}"
        if code == HTTPStatus.GONE:
            return WatchExpiredError(text)
        if code == HTTPStatus.FORBIDDEN:
            text += "; a Role with get, list and watch on endpointslices of discovery.k8s.io is needed"
        return DiscoveryError(text)


class _AskForBookmarks(httpx2.AsyncBaseTransport):
    """Asks for bookmarks in every watch, which lightkube can't be told to: they renew the version that it goes on from."""

    def __init__(self, inner: httpx2.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.url.params.get("watch") == "true":
            request.url = request.url.copy_set_param("allowWatchBookmarks", "true")
        return await self._inner.handle_async_request(request)

    async def aclose(self) -> None:
        await self._inner.aclose()


def _status(error: httpx2.HTTPError) -> int | None:
    if isinstance(error, ApiError) and error.status is not None:
        return error.status.code
    return error.response.status_code if isinstance(error, httpx2.HTTPStatusError) else None


def _slice(found: ApiSlice) -> EndpointSlice:
    metadata = found.metadata
    name = metadata.name if metadata is not None else None
    return EndpointSlice(
        name=name or "",
        is_ipv6=found.addressType == "IPv6",
        labels=(metadata.labels if metadata is not None else None) or {},
        ports={port.name or "": port.port for port in found.ports or () if port.port is not None},
        endpoints=tuple(
            SliceEndpoint(
                address=each.addresses[0],  # by the API's rule there are no others that count
                ready=None if each.conditions is None else each.conditions.ready,
                terminating=None if each.conditions is None else each.conditions.terminating,
                pod_uid=None if each.targetRef is None else each.targetRef.uid,
            )
            for each in found.endpoints or ()
        ),
    )
