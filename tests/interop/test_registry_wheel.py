"""modelexpress' own client, publisher and puller, from the released wheel, against our registry on each of its stores."""

import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from kubernetes_api import NAMESPACE, kubernetes_api
from lightkube import KubeConfig
from modelexpress_wheel import Modelexpress, modelexpress_of
from redis_server import RedisServer

from p2p_registry import Backend, MemoryBackend, SourceIdentity, mx_source_id, open_backend
from p2p_registry.identity import BackendFramework
from p2p_registry.kubernetes import KubernetesBackend
from p2p_registry.kubernetes._lightkube import LightkubeApi
from p2p_registry.kubernetes.crd import custom_resource_definition
from p2p_registry.serving import RegistryServer, ServerConfig

# The first test of a fresh machine downloads wheels of 20 MB.
pytestmark = pytest.mark.timeout(300)

PEER = Path(__file__).with_name("modelexpress_peer.py")
SOURCE = Path(__file__).parents[2] / "packages" / "p2p-registry" / "src"
STAND_INS = ["huggingface_hub", "huggingface_hub.constants", "torch", "torch.nn"]


@asynccontextmanager
async def memory() -> AsyncIterator[Backend]:
    yield MemoryBackend()


@asynccontextmanager
async def redis() -> AsyncIterator[Backend]:
    with RedisServer() as server:
        backend = await open_backend(f"redis://127.0.0.1:{server.port}")
        yield backend
        await backend.aclose()


@asynccontextmanager
async def kubernetes() -> AsyncIterator[Backend]:
    async with kubernetes_api(custom_resource_definition()) as api:
        backend = KubernetesBackend(LightkubeApi(NAMESPACE, config=KubeConfig.from_dict(api.kubeconfig())), NAMESPACE)
        yield backend
        await backend.aclose()


BACKENDS: dict[str, Callable[[], AbstractAsyncContextManager[Backend]]] = {
    "memory": memory,
    "redis": redis,
    "kubernetes": kubernetes,
}


@pytest.fixture(scope="module")
def modelexpress(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Modelexpress]:
    directory = tmp_path_factory.mktemp("modelexpress")
    program = f"sys.path.append({str(SOURCE)!r})\n{PEER.read_text()}"
    with modelexpress_of(directory, program, STAND_INS, also=["prometheus-client"]) as found:
        yield found


async def lose_everything(backend: Backend) -> None:
    for summary in await backend.summaries(None):
        assert await backend.remove(summary.key.source_id, summary.key.worker_id, 2**53)


async def play(modelexpress: Modelexpress, backend: Backend) -> dict[str, Any]:
    """Let the peer play against a registry on `backend`, and return what it found by step."""
    variables = {
        "MX_P2P_SOURCE_SELECTOR": "load_aware",
        "MX_P2P_METADATA": "0",
        "MX_HEARTBEAT_INTERVAL_SECS": "1",
        "MX_WORKER_HOST": "127.0.0.1",
    }
    found: dict[str, Any] = {}
    async with (
        RegistryServer(backend, ServerConfig(listen="127.0.0.1:0")) as server,
        modelexpress.talk(server.address, **variables) as (said, heard),
    ):
        async for line in said:
            step, value = json.loads(line)
            found[step] = value
            if step == "lose":
                await lose_everything(backend)
                heard.write(b"\n")
    return found


@pytest.mark.parametrize("backend", BACKENDS)
async def test_modelexpress_publishes_beats_lists_and_pulls_at_our_registry(
    backend: str, modelexpress: Modelexpress
) -> None:
    async with BACKENDS[backend]() as store:
        found = await play(modelexpress, store)
    source_id = mx_source_id(
        SourceIdentity(
            model_name="plain",
            mx_version="0.7.0",
            backend_framework=BackendFramework.VLLM,
            tensor_parallel_size=8,
            dtype="bfloat16",
        )
    )
    policy, ranked, expected = found.pop("ranked")
    assert found == {
        "our messages": [False, True],
        "published": [source_id, source_id],
        # It publishes without a state, so nobody is shown it before its first heartbeat.
        "before the first heartbeat": {},
        "heartbeats": [True, True, True],
        "listed": {"a": 0.73, "b": None, "c": 0.0},
        "cleared": {"a": None, "b": None, "c": 0.0},
        "passed through": True,
        "got": [True, True, b"\x00agent\xff".hex()],
        "got identity": [True, {"rack": "r1"}, "a"],
        "unknown worker": [False, False],
        "unknown source": [False, {}],
        "refused": found["refused"],
        "publisher": {"w": 0.73},
        "publisher zero": {"w": 0.0},
        "publisher none": {"w": None},
        "publisher raises": {"w": None},
        "lose": None,
        "published again": [2, {"w": None}],
        "stopped": [{}, 3],
        "whole path": [{"whole-1": None}, "agent"],
        "whole path stopped": {},
    }
    assert found["refused"].startswith("PublishMetadata failed: identity.model_name is required")
    assert policy == "load_aware"
    assert ranked == expected
    assert len(ranked) == 8
