"""The store in Kubernetes: the real client library over HTTP against an API server, which `test_kubernetes_api.py` tests first."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest
from backend_conformance import NOW_MS, SOURCE, BackendConformance, key, record, state
from kubernetes_api import CONFIG_MAPS, NAMESPACE, KubernetesApi, Request, kubernetes_api
from lightkube import KubeConfig

from p2p_registry import Backend, BackendError, UpdateOutcome, WorkerSummary
from p2p_registry.kubernetes import KubernetesBackend
from p2p_registry.kubernetes._lightkube import LightkubeApi
from p2p_registry.kubernetes.crd import custom_resource_definition


@pytest.fixture
async def api() -> AsyncIterator[KubernetesApi]:
    async with kubernetes_api(custom_resource_definition()) as serving:
        yield serving


class SettledBackend(KubernetesBackend):
    """Lists only what there is when it is asked: waits until its watch has told what another replica did before."""

    def __init__(self, server: KubernetesApi, *, silence_seconds: float = 90.0) -> None:
        client = LightkubeApi(NAMESPACE, config=KubeConfig.from_server(server.url))
        super().__init__(client, NAMESPACE, silence_seconds=silence_seconds)
        self._server = server

    async def summaries(self, source_id: str | None) -> Sequence[WorkerSummary]:
        await super().summaries(source_id)
        while self._cache.seen < self._server.newest:
            await asyncio.sleep(0)
        return await super().summaries(source_id)


@pytest.fixture
async def backend(api: KubernetesApi) -> AsyncIterator[KubernetesBackend]:
    opened = SettledBackend(api)
    yield opened
    await opened.aclose()


class TestKubernetesBackend(BackendConformance):
    """Two replicas are two clients of one API server."""

    @pytest.fixture(autouse=True)
    async def _store(self, api: KubernetesApi) -> AsyncIterator[None]:
        self._api = api
        self._opened: list[Backend] = []
        yield
        for opened in self._opened:
            await opened.aclose()

    async def open(self) -> Backend:
        opened = SettledBackend(self._api)
        self._opened.append(opened)
        return opened
