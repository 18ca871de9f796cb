"""What `loadmonitor-worker manifest` prints: objects that Kubernetes takes, and that do what they are for."""

import asyncio
import io
import json
import os
import re
import subprocess
import sys
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from loadmonitor_router.discovery.slices import EndpointSlice, SliceEndpoint, workers_of_slices
from loadmonitor_router.reports import WorkerType
from loadmonitor_worker.cli import run

SCRIPTS = Path(sys.executable).parent
SIDECAR = ("sidecar", "--image", "registry/lm:1", "--engine-image", "registry/engine:1")
COMPONENT = ("component", "--image", "registry/lm:1")
ROUTER = ("router", "--image", "registry/router:1")
VLLM = ("--source", "vllm-metrics", "--engine-port", "8000", "--max-running-requests", "256")
TAKEN_PORTS = {
    *range(8000, 8008), 8080, 8081, *range(8200, 8208), 8998, 9002, 9003, 9090, 9100, 9400, 9401, 9402, 29000,
}  # fmt: skip
"""Of engines, llm-d, its endpoint picker, node and dcgm exporters, modelexpress and SMG; and from 30000 SGLang's ranks."""

Object = dict[str, Any]


def command(program: str, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith("LOADMONITOR_")} | environ
    line = [str(SCRIPTS / program), *arguments]
    return subprocess.run(line, capture_output=True, text=True, check=False, timeout=50, env=env)


@cache
def manifest(*arguments: str) -> list[Object]:
    printed = io.StringIO()
    with redirect_stdout(printed):
        assert run(["manifest", *arguments]) == 0
    return list(yaml.safe_load_all(printed.getvalue()))


def pod_of(objects: list[Object]) -> Object:
    (pod,) = [item["spec"]["template"] for item in objects if item["kind"] == "Deployment"]
    assert isinstance(pod, dict)
    return pod


def variables(container: Object) -> dict[str, str]:
    """Return a container's environment as its process sees it."""
    known: dict[str, str] = {}
    for entry in container["env"]:
        if "valueFrom" in entry:
            value = {"status.podIP": "10.1.2.3"}.get(entry["valueFrom"]["fieldRef"]["fieldPath"], "some-name")
        else:
            value = re.sub(r"\$\((\w+)\)", lambda match: known[match[1]], entry["value"])
        known[entry["name"]] = value
    return known


@pytest.fixture(scope="module")
def pod() -> Object:
    """The template of a pod with a native sidecar, and a drain."""
    return pod_of(manifest(*SIDECAR, "--drain-seconds", "120", "--", "serve-engine", "--flag"))


@pytest.fixture(scope="module")
def sidecar(pod: Object) -> Object:
    found = pod["spec"]["initContainers"][0]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("version", ["1.29", "1.37"])
def test_kubernetes_schemas_accept_every_object_and_no_unknown_field(version: str, tmp_path: Path) -> None:
    files = []
    for number, arguments in enumerate(
        [SIDECAR, (*SIDECAR, "--plain", "--drain-seconds", "5", "--scrape-annotations", *VLLM), ROUTER]
    ):
        file = tmp_path / f"{number}.yaml"
        file.write_text(command("loadmonitor-worker", "manifest", *arguments, "--namespace", "x").stdout)
        files.append(str(file))
    ended = command("kubernetes-validate", "--strict", "-k", version, *files)
    assert ended.returncode == 0, ended.stdout
    told = ended.stdout.splitlines()
    assert len(told) == 2 + 2 + 4
    assert all(f"against version {version}" in line and " passed for resource " in line for line in told)


def test_the_schemas_would_refuse_a_misspelt_field(tmp_path: Path) -> None:
    file = tmp_path / "pod.yaml"
    printed = command("loadmonitor-worker", "manifest", *SIDECAR).stdout
    file.write_text(printed.replace("livenessProbe", "livenesProbe"))
    assert command("kubernetes-validate", "--strict", "-k", "1.37", str(file)).returncode == 1


def test_the_sidecar_is_native_and_first_and_holds_nobody_back(pod: Object, sidecar: Object) -> None:
    assert sidecar["name"] == "loadmonitor-worker"
    assert sidecar["restartPolicy"] == "Always"
    assert "readinessProbe" not in sidecar
    assert "startupProbe" not in sidecar
    assert sidecar["livenessProbe"]["httpGet"] == {"path": "/livez", "port": "lm-metrics"}
    assert [container["name"] for container in pod["spec"]["containers"]] == ["engine"]
    assert pod["spec"]["containers"][0]["command"] == ["serve-engine", "--flag"]


def test_its_ports_are_named_and_nobody_elses(sidecar: Object) -> None:
    ports = {port["name"]: port["containerPort"] for port in sidecar["ports"]}
    assert ports == {"lm-grpc": 50061, "lm-metrics": 9464}
    assert all(len(name) <= 15 for name in ports)
    assert not set(ports.values()) & TAKEN_PORTS


def test_one_flag_moves_a_port_everywhere() -> None:
    deployment, service = manifest(
        *SIDECAR, "--listen", "0.0.0.0:7000", "--http-listen", "0.0.0.0:7001", "--drain-seconds", "9"
    )
    moved = pod_of([deployment])["spec"]
    sidecar = moved["initContainers"][0]
    assert [port["containerPort"] for port in sidecar["ports"]] == [7000, 7001]
    assert variables(sidecar)["LOADMONITOR_LISTEN"] == "0.0.0.0:7000"
    assert variables(sidecar)["LOADMONITOR_HTTP_LISTEN"] == "0.0.0.0:7001"
    assert moved["containers"][0]["lifecycle"]["preStop"]["httpGet"]["port"] == 7001
    assert service["spec"]["ports"][1] == {"name": "lm-grpc", "port": 7000, "targetPort": "lm-grpc"}


def test_shared_memory_is_one_volume_that_the_sidecar_only_reads(pod: Object, sidecar: Object) -> None:
    assert pod["spec"]["volumes"] == [{"name": "shm", "emptyDir": {"medium": "Memory"}}]
    assert sidecar["volumeMounts"] == [{"name": "shm", "mountPath": "/dev/shm", "readOnly": True}]
    assert pod["spec"]["containers"][0]["volumeMounts"] == [{"name": "shm", "mountPath": "/dev/shm"}]


def test_the_sidecar_may_nothing_beyond_reading_as_the_engines_user(pod: Object, sidecar: Object) -> None:
    assert sidecar["securityContext"] == {
        "runAsUser": 0,
        "runAsNonRoot": False,
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert pod["spec"]["automountServiceAccountToken"] is False
    by_http = pod_of(manifest(*SIDECAR, *VLLM))["spec"]
    context = by_http["initContainers"][0]["securityContext"]
    assert (context["runAsUser"], context["runAsNonRoot"]) == (65532, True)
    assert "volumes" not in by_http
    assert (
        pod_of(manifest(*SIDECAR, "--run-as-user", "7"))["spec"]["initContainers"][0]["securityContext"]["runAsUser"]
        == 7
    )


def test_it_asks_for_little_and_is_never_throttled(sidecar: Object) -> None:
    assert sidecar["resources"] == {"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"memory": "128Mi"}}


def test_it_knows_its_pod_and_service_links_are_off(pod: Object, sidecar: Object) -> None:
    fields = {
        entry["name"]: entry["valueFrom"]["fieldRef"]["fieldPath"] for entry in sidecar["env"] if "valueFrom" in entry
    }
    assert fields == {
        "POD_NAME": "metadata.name",
        "POD_NAMESPACE": "metadata.namespace",
        "POD_IP": "status.podIP",
        "POD_UID": "metadata.uid",
        "NODE_NAME": "spec.nodeName",
    }
    seen = variables(sidecar)
    assert seen["OTEL_SERVICE_NAME"] == "loadmonitor-worker"
    assert seen["OTEL_RESOURCE_ATTRIBUTES"].startswith("k8s.namespace.name=some-name,k8s.pod.name=some-name,")
    assert pod["spec"]["enableServiceLinks"] is False


def test_a_drain_is_asked_for_by_the_engines_end_and_fits_into_it(pod: Object, sidecar: Object) -> None:
    hook = pod["spec"]["containers"][0]["lifecycle"]["preStop"]["httpGet"]
    assert hook == {"path": "/drain?timeout_seconds=120", "port": 9464}
    assert pod["spec"]["terminationGracePeriodSeconds"] >= 120 + 10
    assert variables(sidecar)["LOADMONITOR_REMOTE_DRAIN"] == "true"
    without = pod_of(manifest(*SIDECAR))["spec"]
    assert "lifecycle" not in without["containers"][0]
    assert "LOADMONITOR_REMOTE_DRAIN" not in variables(without["initContainers"][0])


@pytest.mark.parametrize("arguments", [(), VLLM, ("--drain-seconds", "60", "--model", "m", "--worker-type", "decode")])
def test_config_accepts_the_sidecars_environment_and_reads_every_variable(arguments: tuple[str, ...]) -> None:
    environ = variables(pod_of(manifest(*SIDECAR, *arguments))["spec"]["initContainers"][0])
    ended = command("loadmonitor-worker", "config", "--json", "--show-origin", **environ)
    assert (ended.returncode, ended.stderr) == (0, "")
    rows = {row["setting"]: row for row in map(json.loads, ended.stdout.splitlines())}
    assert {row["origin"] for row in rows.values()} - {"default"} == {
        name for name in environ if name.startswith("LOADMONITOR_")
    }
    assert rows["worker_addr"]["value"] == f"http://10.1.2.3:{8000 if arguments == VLLM else 30000}"
    assert (rows["host"]["value"], rows["port"]["value"], rows["http_port"]["value"]) == ("0.0.0.0", 50061, 9464)
    if arguments == VLLM:
        assert rows["engine_url"]["value"] == "http://127.0.0.1:8000"
        assert rows["max_running_requests"]["value"] == 256


def test_a_plain_sidecar_is_a_container_among_the_others() -> None:
    spec = pod_of(manifest(*SIDECAR, "--plain"))["spec"]
    assert [container["name"] for container in spec["containers"]] == ["engine", "loadmonitor-worker"]
    assert "initContainers" not in spec
    assert "restartPolicy" not in spec["containers"][1]


def test_a_plain_sidecar_stays_until_the_engine_has_drained_by_a_command_there_is(sidecar: Object) -> None:
    assert "lifecycle" not in sidecar, "a native one is ended after the engine"
    spec = pod_of(manifest(*SIDECAR, "--plain", "--drain-seconds", "60", "--http-listen", "0.0.0.0:7001"))["spec"]
    program, *arguments = spec["containers"][1]["lifecycle"]["preStop"]["exec"]["command"]
    assert arguments == ["drain", "--timeout", "60", "--http-listen", "127.0.0.1:7001"]
    ended = command(program, *arguments)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "no answer from 127.0.0.1:7001" in ended.stderr
    assert "lifecycle" not in pod_of(manifest(*SIDECAR, "--plain"))["spec"]["containers"][1]


@pytest.mark.parametrize("plain", [(), ("--plain",)])
def test_the_component_brings_the_same_sidecar_to_a_deployment_there_is(plain: tuple[str, ...]) -> None:
    (component,) = manifest(
        *COMPONENT, "--name", "mine", "--engine-container", "sglang", "--drain-seconds", "60", *plain
    )
    assert (component["apiVersion"], component["kind"]) == ("kustomize.config.k8s.io/v1alpha1", "Component")
    assert [patch["target"] for patch in component["patches"]] == [
        {"kind": "Deployment", "name": "mine"},
        {"kind": "Service", "name": "mine"},
    ]
    workload, service = [yaml.safe_load(patch["patch"]) for patch in component["patches"]]
    patched = pod_of([workload])
    whole = pod_of(manifest(*SIDECAR, "--name", "mine", "--drain-seconds", "60", *plain))["spec"]
    kept = ("initContainers", "volumes", "enableServiceLinks", "terminationGracePeriodSeconds")
    assert {name: patched["spec"].get(name) for name in kept} == {name: whole.get(name) for name in kept}
    assert patched["spec"]["containers"][1:] == whole["containers"][1:]
    engine = patched["spec"]["containers"][0]
    assert engine == {"name": "sglang"} | {name: whole["containers"][0][name] for name in ("lifecycle", "volumeMounts")}
    # A patch that named them would change what the Deployment is.
    assert "selector" not in workload["spec"]
    assert service["spec"] == {"ports": [{"name": "lm-grpc", "port": 50061, "targetPort": "lm-grpc"}]}
    annotations = patched["metadata"].get("annotations", {})
    assert annotations == ({"kubectl.kubernetes.io/default-container": "sglang"} if plain else {})


def test_the_exporter_may_watch_endpoint_slices_of_its_namespace_and_nothing_else() -> None:
    account, role, binding, deployment = manifest(*ROUTER, "--namespace", "inference")
    assert [item["kind"] for item in (account, role, binding)] == ["ServiceAccount", "Role", "RoleBinding"]
    assert role["rules"] == [
        {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["get", "list", "watch"]}
    ]
    assert binding["roleRef"] == {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "loadmonitor"}
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "loadmonitor", "namespace": "inference"}]
    spec = pod_of([deployment])["spec"]
    assert (spec["serviceAccountName"], spec["enableServiceLinks"]) == ("loadmonitor", False)
    container = spec["containers"][0]
    assert {port["name"]: port["containerPort"] for port in container["ports"]} == {"lm-metrics": 9464}
    assert "cpu" not in container["resources"]["limits"]
    assert container["livenessProbe"]["httpGet"] == {"path": "/livez", "port": "lm-metrics"}


async def test_the_exporters_command_is_one_that_loadmonitor_runs(tmp_path: Path) -> None:
    container = pod_of(manifest(*ROUTER))["spec"]["containers"][0]
    program, name, *arguments = container["command"]
    assert (program, name) == ("loadmonitor", "export")
    known = set(re.findall(r"^  (--[a-z-]+)", command(program, name, "--help").stdout, re.MULTILINE))
    flags = dict(zip(arguments[::2], arguments[1::2], strict=True))
    assert flags.keys() <= known
    assert flags["--listen"] == "0.0.0.0:9464"
    (tmp_path / "config").write_text(
        """{"clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:9"}}],
            "contexts": [{"name": "c", "context": {"cluster": "c"}}], "current-context": "c"}"""
    )
    line = [
        part.replace("$(POD_NAMESPACE)", "x").replace("0.0.0.0:9464", "127.0.0.1:0") for part in container["command"]
    ]
    process = await asyncio.create_subprocess_exec(
        SCRIPTS / line[0],
        *line[1:],
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=os.environ | {"KUBECONFIG": str(tmp_path / "config")},
    )
    assert process.stdout is not None
    assert process.stderr is not None
    first, complaint = (await process.stdout.readline()).decode(), (await process.stderr.readline()).decode()
    process.terminate()
    await process.communicate()
    assert first.startswith("listening on 127.0.0.1:")
    assert "EndpointSlices of namespace x can't be" in complaint


def test_the_exporter_finds_the_pods_behind_the_sidecars_service() -> None:
    deployment, service = manifest(*SIDECAR, "--worker-type", "prefill")
    exporter = pod_of(manifest(*ROUTER))["spec"]["containers"][0]["command"]
    label, _, value = exporter[exporter.index("--discover") + 1].partition("/")[2].partition("=")
    assert service["metadata"]["labels"][label] == value
    labels = pod_of([deployment])["metadata"]["labels"]
    assert service["spec"]["selector"].items() <= labels.items()
    assert deployment["spec"]["selector"]["matchLabels"].items() <= labels.items()
    assert (labels["llm-d.ai/engine-type"], labels["llm-d.ai/role"]) == ("sglang", "prefill")
    (worker,) = workers_of_slices(
        [
            EndpointSlice(
                name="s",
                labels=service["metadata"]["labels"],
                ports={port["name"]: port["port"] for port in service["spec"]["ports"]},
                endpoints=(SliceEndpoint(address="10.0.0.1", ready=True),),
            )
        ],
        worker_port_name="http",
        reporter_port=1,
    )
    assert (worker.url, worker.reporter, worker.worker_type) == (
        "http://10.0.0.1:30000",
        "10.0.0.1:50061",
        WorkerType.PREFILL,
    )


def test_the_monitor_finds_sidecars_and_exporter_by_their_port_and_label() -> None:
    (monitor,) = manifest("monitor", "--label", "release=prometheus")
    assert (monitor["apiVersion"], monitor["kind"]) == ("monitoring.coreos.com/v1", "PodMonitor")
    assert monitor["metadata"]["labels"]["release"] == "prometheus"
    (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
    assert endpoint == {"port": "lm-metrics", "path": "/metrics", "interval": "15s", "honorLabels": False}
    wanted = monitor["spec"]["selector"]["matchLabels"].items()
    for arguments in (SIDECAR, ROUTER):
        assert wanted <= pod_of(manifest(*arguments))["metadata"]["labels"].items()
    (component,) = manifest(*COMPONENT)
    assert wanted <= pod_of([yaml.safe_load(component["patches"][0]["patch"])])["metadata"]["labels"].items()


def test_a_prometheus_without_an_operator_is_told_by_annotations() -> None:
    for arguments in (SIDECAR, ROUTER):
        assert "annotations" not in pod_of(manifest(*arguments))["metadata"]
        assert pod_of(manifest(*arguments, "--scrape-annotations"))["metadata"]["annotations"] == {
            "prometheus.io/scrape": "true",
            "prometheus.io/port": "9464",
            "prometheus.io/path": "/metrics",
        }


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((*SIDECAR, "--stale-after-ms", "0"), "stale_after_ms=0 (--stale-after-ms) is not allowed"),
        (
            (*SIDECAR, "--http-listen", "127.0.0.1:9464"),
            "--http-listen 127.0.0.1 can't be reached from outside the pod",
        ),
        ((*SIDECAR, "--listen", "0.0.0.0:0"), "port 0 of --listen and port 9464 of --http-listen are not allowed"),
        (
            (*SIDECAR, "--http-listen", "0.0.0.0:50061"),
            "port 50061 of --listen and port 50061 of --http-listen are not",
        ),
        ((*SIDECAR, "--drain-seconds", "0"), "--drain-seconds 0 is not allowed"),
        ((*SIDECAR, "--engine-url", "http://x"), "--engine-url belongs to --source sglang-http"),
        (("monitor", "--label", "x"), "--label x is not allowed: NAME=VALUE is"),
    ],
)
def test_what_could_not_work_is_refused(arguments: tuple[str, ...], complaint: str) -> None:
    ended = command("loadmonitor-worker", "manifest", *arguments)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert complaint in ended.stderr


def test_the_environment_of_whoever_prints_it_is_left_out() -> None:
    printed = command("loadmonitor-worker", "manifest", *SIDECAR, LOADMONITOR_ZONE="mine").stdout
    assert "loadmonitor-worker" in printed
    assert "mine" not in printed
