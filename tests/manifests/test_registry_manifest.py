"""What `p2p-registry manifest` prints: objects that Kubernetes takes, and a server that runs as they say."""

import asyncio
import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import grpc.aio
import httpx
import pytest
import yaml
from kubernetes_api import NAMESPACE, KubernetesApi, kubernetes_api

from p2p_registry import SourceIdentity
from p2p_registry.cli import run
from p2p_registry.client import RegistryClient
from p2p_registry.kubernetes.crd import custom_resource_definition
from p2p_registry.server import RegistryStub
from p2p_registry.wire import PublishMetadataRequest, UpdateStatusRequest, WorkerMetadata
from p2p_registry.wire import SourceIdentity as WireIdentity
from p2p_registry.wire import SourceStatus as WireStatus

READY = WireStatus.Value("SOURCE_STATUS_READY")
SCRIPTS = Path(sys.executable).parent
Object = dict[str, Any]


def manifest(*arguments: str) -> list[Object]:
    printed = io.StringIO()
    with redirect_stdout(printed):
        assert run(["manifest", *arguments]) == 0
    return list(yaml.safe_load_all(printed.getvalue()))


def validate(version: str, file: Path) -> subprocess.CompletedProcess[str]:
    line = [str(SCRIPTS / "kubernetes-validate"), "--strict", "-k", version, str(file)]
    return subprocess.run(line, capture_output=True, text=True, check=False, timeout=50)


@pytest.mark.parametrize("version", ["1.29", "1.37"])
def test_kubernetes_schemas_accept_every_object_and_no_unknown_field(version: str, tmp_path: Path) -> None:
    file = tmp_path / "registry.yaml"
    file.write_text(yaml.safe_dump_all(manifest("--image", "registry/p2p:1", "--namespace", "x")))
    ended = validate(version, file)
    assert ended.returncode == 0, ended.stdout
    told = ended.stdout.splitlines()
    assert len(told) == 7
    assert all(f"against version {version}" in line and " passed for resource " in line for line in told)


def test_the_schemas_would_refuse_a_misspelt_field_of_the_definition(tmp_path: Path) -> None:
    file = tmp_path / "crd.yaml"
    file.write_text(yaml.safe_dump_all(manifest("crd")).replace("additionalPrinterColumns", "additionalPrinterColumn"))
    assert validate("1.37", file).returncode == 1


def test_what_is_printed_is_the_definition_that_is_tested() -> None:
    assert manifest("crd") == [custom_resource_definition()]


async def serve(command: list[str], kubeconfig: Path) -> tuple[asyncio.subprocess.Process, str, str]:
    """Start a server as its container would, but on free ports of this machine, and give its two addresses."""
    ports = {"0.0.0.0:8001": "127.0.0.1:0", "0.0.0.0": "127.0.0.1", "9401": "0"}
    program, *arguments = [ports.get(part, part).replace("$(POD_NAMESPACE)", NAMESPACE) for part in command]
    process = await asyncio.create_subprocess_exec(
        SCRIPTS / program,
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=os.environ | {"KUBECONFIG": str(kubeconfig)},
    )
    assert process.stdout is not None
    first, second = [(await process.stdout.readline()).decode() for _ in range(2)]
    return process, first.removeprefix("listening on ").strip(), second.removeprefix("metrics at ").strip()


def kubeconfig_of(api: KubernetesApi, folder: Path) -> Path:
    file = folder / "config"
    cluster = {"name": "c", "cluster": {"server": api.url}}
    context = {"name": "c", "context": {"cluster": "c"}}
    file.write_text(json.dumps({"clusters": [cluster], "contexts": [context], "current-context": "c"}))
    return file


async def test_two_replicas_run_as_printed_and_serve_one_cluster(tmp_path: Path) -> None:
    (definition,) = manifest("crd")
    *_, deployment = manifest("server", "--image", "i")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    async with kubernetes_api(definition) as api:
        kubeconfig = kubeconfig_of(api, tmp_path)
        replicas = await asyncio.gather(*(serve(container["command"], kubeconfig) for _ in range(2)))
        (_, one, metrics), (_, other, _) = replicas
        async with grpc.aio.insecure_channel(one) as first, grpc.aio.insecure_channel(other) as second:
            publish = PublishMetadataRequest(
                identity=WireIdentity(model_name="m"), worker=WorkerMetadata(agent_name="a"), worker_id="w"
            )
            published = await RegistryStub(first).PublishMetadata(publish)
            assert published.success, published.message
            heartbeat = UpdateStatusRequest(
                mx_source_id=published.mx_source_id, worker_id="w", status=READY, source_load=0.25
            )
            updated = await RegistryStub(second).UpdateStatus(heartbeat)
            assert updated.success, updated.message
            listing = await RegistryClient(second).list_sources(SourceIdentity(model_name="m"))
            assert [(each.worker_id, each.source_load) for each in listing.sources] == [("w", 0.25)]
            assert (await RegistryClient(first).metadata(listing.sources[0])).agent_name == "a"
        (found,) = api.resource.objects.values()
        assert found["status"]["worker"]["sourceLoad"] == 0.25

        readyz = metrics.replace("/metrics", container["readinessProbe"]["httpGet"]["path"])
        async with httpx.AsyncClient() as http:
            while (await http.get(readyz)).status_code != 200:  # noqa: ASYNC110 - nothing tells it
                await asyncio.sleep(0.05)
            assert 'backend="kubernetes"' in (await http.get(metrics)).text
        for process, _, _ in replicas:
            process.terminate()
        for process, _, _ in replicas:
            _, errors = await process.communicate()
            assert process.returncode == 0, errors.decode()
