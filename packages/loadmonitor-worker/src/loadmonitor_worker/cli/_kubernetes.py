"""The Kubernetes objects of a sidecar, from the settings that it is to have: one value makes the variable, the port and the probe.

Who changes something here may want to know why it is so: the comments say.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from loadmonitor_worker.cli._kubernetes_parts import (
    DOWNWARD,
    GRPC_PORT_NAME,
    METRICS_PORT_NAME,
    downward,
    liveness_probe,
    metadata,
    scrape_annotations,
    security_context,
)
from loadmonitor_worker.cli._settings import SidecarConfig
from loadmonitor_worker.cli._side_port import DRAIN
from loadmonitor_worker.cli._yaml import Node, to_yaml
from loadmonitor_worker.config import WorkerType
from loadmonitor_worker.settings import LoadedSettings, environment_of

CONTAINER: Final = "loadmonitor-worker"
GRACE_SECONDS: Final = 10
"""What a pod's end takes beyond the drain: the goodbye, and the engine's own end."""
_ENGINES = {"sglang-shm": "sglang", "sglang-http": "sglang", "sglang-metrics": "sglang", "vllm-metrics": "vllm"}
_RESOURCE_ATTRIBUTES = (
    "k8s.namespace.name=$(POD_NAMESPACE),k8s.pod.name=$(POD_NAME),k8s.pod.uid=$(POD_UID),k8s.node.name=$(NODE_NAME)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PodPlan:
    """What a pod with a sidecar is to be.

    Attributes:
        settings: What the sidecar is set up with.
        image: Of the sidecar.
        plain: Put it among `containers` rather than `initContainers`.
        run_as_user: The sidecar's user.
        drain_seconds: How long the engine's end waits for a drain, or None for no drain.
        part_of: The value of the label by which routers and scrapers find the pods.
        scrape_annotations: Annotate the pods with `prometheus.io/…`.
    """

    settings: LoadedSettings[SidecarConfig]
    image: str
    plain: bool
    run_as_user: int
    drain_seconds: int | None
    part_of: str
    scrape_annotations: bool

    @property
    def ports(self) -> dict[str, int]:
        """The sidecar's ports by name."""
        config = self.settings.config
        assert config.port is not None
        assert config.http_port is not None
        return {GRPC_PORT_NAME: config.port, METRICS_PORT_NAME: config.http_port}

    @property
    def labels(self) -> dict[str, Node]:
        """What pods and Services are labelled with, for those who look for them."""
        config = self.settings.config
        labels: dict[str, Node] = {"app.kubernetes.io/part-of": self.part_of}
        if (engine := _ENGINES.get(config.source)) is not None:
            labels["llm-d.ai/engine-type"] = engine
        return labels | {
            "llm-d.ai/role": "both" if config.worker_type is WorkerType.REGULAR else config.worker_type.value
        }

    @property
    def shares_memory(self) -> bool:
        """Whether the sidecar reads the engine's shared memory."""
        return self.settings.config.source == "sglang-shm"


def sidecar_objects(
    plan: PodPlan,
    *,
    name: str,
    namespace: str | None,
    engine_image: str,
    engine_command: Sequence[str],
    engine_port: int,
    gpus: int,
) -> list[dict[str, Node]]:
    """Return a Deployment of an engine with its sidecar, and the Service by which routers find its pods."""
    selector: dict[str, Node] = {"app.kubernetes.io/name": name}
    labels = selector | {"app.kubernetes.io/component": "inference-engine"} | plan.labels
    engine: dict[str, Node] = {"name": "engine", "image": engine_image}
    if engine_command:
        engine["command"] = list(engine_command)
    engine["ports"] = [{"name": "http", "containerPort": engine_port}]
    if gpus:
        engine["resources"] = {"limits": {"nvidia.com/gpu": gpus}}
    # Neither engine nor sidecar asks the API server anything.
    pod = {"automountServiceAccountToken": False} | _pod(plan, engine | _engine_part(plan))
    found = _annotations(plan)
    deployment: dict[str, Node] = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(name, namespace, labels),
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": selector},
            "template": {"metadata": {"labels": labels} | ({"annotations": found} if found else {}), "spec": pod},
        },
    }
    service: dict[str, Node] = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(name, namespace, labels),
        "spec": {
            # A router has a stream to each pod: there is nothing to balance.
            "clusterIP": "None",
            "selector": selector,
            "ports": [{"name": "http", "port": engine_port}, _service_port(plan)],
        },
    }
    return [deployment, service]


def component(plan: PodPlan, *, name: str, engine_container: str) -> dict[str, Node]:
    """Return a Kustomize component that gives a Deployment a sidecar, and its Service what routers look for."""
    engine = {"name": engine_container} | _engine_part(plan)
    found = _annotations(plan)
    if plan.plain:
        # A merge puts the sidecar first, and kubectl takes the first container unless told.
        found["kubectl.kubernetes.io/default-container"] = engine_container
    template: dict[str, Node] = {
        "metadata": {"labels": plan.labels} | ({"annotations": found} if found else {}),
        "spec": _pod(plan, engine),
    }
    workload: dict[str, Node] = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {"template": template},
    }
    service: dict[str, Node] = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "labels": plan.labels},
        "spec": {"ports": [_service_port(plan)]},
    }
    return {
        "apiVersion": "kustomize.config.k8s.io/v1alpha1",
        "kind": "Component",
        "patches": [
            {"target": {"kind": patch["kind"], "name": name}, "patch": to_yaml([patch])}
            for patch in (workload, service)
        ],
    }


def _annotations(plan: PodPlan) -> dict[str, Node]:
    return scrape_annotations(plan.ports[METRICS_PORT_NAME]) if plan.scrape_annotations else {}


def _pod(plan: PodPlan, engine: dict[str, Node]) -> dict[str, Node]:
    # The links of a Service named loadmonitor would otherwise look like settings.
    pod: dict[str, Node] = {"enableServiceLinks": False}
    if plan.drain_seconds is not None:
        pod["terminationGracePeriodSeconds"] = plan.drain_seconds + GRACE_SECONDS
    if plan.plain:
        pod["containers"] = [engine, _sidecar(plan)]
    else:
        # First, so that it runs while those after it start; as it restarts always it holds none of them up.
        pod["initContainers"] = [{**_sidecar(plan), "restartPolicy": "Always"}]
        pod["containers"] = [engine]
    if plan.shares_memory:
        # Containers of a pod have each a /dev/shm of its own, unless they mount one.
        pod["volumes"] = [{"name": "shm", "emptyDir": {"medium": "Memory"}}]
    return pod


def _sidecar(plan: PodPlan) -> dict[str, Node]:
    variables: list[Node] = downward(*DOWNWARD)
    told = {"OTEL_SERVICE_NAME": CONTAINER, "OTEL_RESOURCE_ATTRIBUTES": _RESOURCE_ATTRIBUTES}
    variables += [{"name": name, "value": value} for name, value in (told | environment_of(plan.settings)).items()]
    container: dict[str, Node] = {
        "name": CONTAINER,
        "image": plan.image,
        "command": ["loadmonitor-worker", "serve"],
        "env": variables,
        "ports": [{"name": name, "containerPort": port} for name, port in plan.ports.items()],
        # No readinessProbe, which would decide the readiness of the pod, so of the engine; no startupProbe, which would hold
        # the engine back that it waits for.
        "livenessProbe": liveness_probe(),
        # No CPU limit: a throttled sidecar reports old numbers.
        "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"memory": "128Mi"}},
        "securityContext": security_context(plan.run_as_user),
    }
    if plan.plain and plan.drain_seconds is not None:
        # Kubernetes ends plain containers together: without a hook of its own the sidecar would be gone while the engine drains.
        address = f"127.0.0.1:{plan.ports[METRICS_PORT_NAME]}"
        drain = ["loadmonitor-worker", "drain", "--timeout", str(plan.drain_seconds), "--http-listen", address]
        container["lifecycle"] = {"preStop": {"exec": {"command": drain}}}
    if plan.shares_memory:
        container["volumeMounts"] = [{"name": "shm", "mountPath": "/dev/shm", "readOnly": True}]  # noqa: S108 - the engine's
    return container


def _engine_part(plan: PodPlan) -> dict[str, Node]:
    """Return what the engine's container needs for its sidecar."""
    part: dict[str, Node] = {}
    if plan.drain_seconds is not None:
        # The engine's hook, because a native sidecar's comes when the engine is gone; by number, because a hook finds only
        # ports of its own container by name.
        path = f"{DRAIN}?timeout_seconds={plan.drain_seconds}"
        part["lifecycle"] = {"preStop": {"httpGet": {"path": path, "port": plan.ports[METRICS_PORT_NAME]}}}
    if plan.shares_memory:
        part["volumeMounts"] = [{"name": "shm", "mountPath": "/dev/shm"}]  # noqa: S108 - where the engine publishes
    return part


def _service_port(plan: PodPlan) -> dict[str, Node]:
    return {"name": GRPC_PORT_NAME, "port": plan.ports[GRPC_PORT_NAME], "targetPort": GRPC_PORT_NAME}
