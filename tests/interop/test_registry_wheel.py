"""modelexpress' own client, publisher and puller, from the released wheel, against our registry on each of its stores."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from redis_server import RedisServer

from p2p_registry import Backend, MemoryBackend, SourceIdentity, mx_source_id, open_backend
from p2p_registry.identity import BackendFramework
from p2p_registry.serving import RegistryServer, ServerConfig

# The first test of a fresh machine downloads wheels of 20 MB.
pytestmark = pytest.mark.timeout(300)

PEER = Path(__file__).with_name("modelexpress_peer.py")
MODULES = {
    "modelexpress.client",
    "modelexpress.load_strategy.rdma_strategy",
    "modelexpress.metadata.publish",
    "modelexpress.metadata.publisher",
    "modelexpress.metadata.source_id",
    "modelexpress.p2p_pb2",
    "modelexpress.source_selection",
}


@asynccontextmanager
async def memory() -> AsyncIterator[Backend]:
    yield MemoryBackend()


@asynccontextmanager
async def redis() -> AsyncIterator[Backend]:
    with RedisServer() as server:
        backend = await open_backend(f"redis://127.0.0.1:{server.port}")
        yield backend
        await backend.aclose()


BACKENDS: dict[str, Callable[[], AbstractAsyncContextManager[Backend]]] = {"memory": memory, "redis": redis}


async def lose_everything(backend: Backend) -> None:
    for summary in await backend.summaries(None):
        assert await backend.remove(summary.key.source_id, summary.key.worker_id, 2**53)


async def play(python: Path, backend: Backend) -> dict[str, Any]:
    """Let the peer play against a registry on `backend`, and return what it found by step."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("MX_", "MODEL_EXPRESS_"))}
    environ |= {
        "MX_P2P_SOURCE_SELECTOR": "load_aware",
        "MX_P2P_METADATA": "0",
        "MX_HEARTBEAT_INTERVAL_SECS": "1",
        "MX_WORKER_HOST": "127.0.0.1",
    }
    found: dict[str, Any] = {}
    async with RegistryServer(backend, ServerConfig(listen="127.0.0.1:0")) as server:
        peer = await asyncio.create_subprocess_exec(
            python,
            "-I",
            PEER,
            server.address,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=environ,
        )
        assert peer.stdin is not None
        assert peer.stdout is not None
        try:
            ran = json.loads(await peer.stdout.readline())
            sys.stdout.write(f"{ran}\n")
            assert ran["modelexpress"] == "0.7.0"
            assert ran["stand_ins"] == ["huggingface_hub", "huggingface_hub.constants", "torch", "torch.nn"]
            assert set(ran["files"]) == MODULES
            for file in ran["files"].values():
                assert "site-packages" in Path(file).relative_to(python.parents[1]).parts
            async for line in peer.stdout:
                step, value = json.loads(line)
                found[step] = value
                if step == "lose":
                    await lose_everything(backend)
                    peer.stdin.write(b"\n")
        finally:
            if peer.returncode is None:
                peer.kill()
            await peer.communicate()
    return found


@pytest.mark.parametrize("backend", BACKENDS)
async def test_modelexpress_publishes_beats_lists_and_pulls_at_our_registry(
    backend: str, modelexpress_python: Path
) -> None:
    async with BACKENDS[backend]() as store:
        found = await play(modelexpress_python, store)
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
