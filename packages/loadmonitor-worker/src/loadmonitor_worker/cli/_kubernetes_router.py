"""The Kubernetes objects of those who look at Workers: the exporter that finds them by EndpointSlices, and the scraper."""

from collections.abc import Mapping

from loadmonitor_worker.cli._kubernetes_parts import (
    METRICS_PORT_NAME,
    downward,
    liveness_probe,
    metadata,
    scrape_annotations,
    security_context,
)
from loadmonitor_worker.cli._side_port import METRICS, SIDE_PORT
from loadmonitor_worker.cli._yaml import Node

_USER = 65_532
_SCRAPE_INTERVAL = "15s"


def router_objects(
    *, name: str, namespace: str | None, image: str, part_of: str, annotate: bool
) -> list[dict[str, Node]]:
    """Return a Deployment of `loadmonitor export` that finds the Workers of its namespace, and what it may do there."""
    selector: dict[str, Node] = {"app.kubernetes.io/name": name}
    labels = selector | {"app.kubernetes.io/component": "load-exporter", "app.kubernetes.io/part-of": part_of}
    named = metadata(name, namespace, labels)
    account: dict[str, Node] = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": named,
        "automountServiceAccountToken": False,
    }
    role: dict[str, Node] = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": named,
        "rules": [
            {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["get", "list", "watch"]}
        ],
    }
    subject = {"kind": "ServiceAccount", "name": name} | ({} if namespace is None else {"namespace": namespace})
    binding: dict[str, Node] = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": named,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
        "subjects": [subject],
    }
    pod: dict[str, Node] = {
        "serviceAccountName": name,
        "automountServiceAccountToken": True,
        "enableServiceLinks": False,
        "containers": [_exporter(image, part_of)],
    }
    found = {"annotations": scrape_annotations(SIDE_PORT)} if annotate else {}
    deployment: dict[str, Node] = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": named,
        "spec": {
            # One: a second would export the same load once more.
            "replicas": 1,
            "selector": {"matchLabels": selector},
            "template": {"metadata": {"labels": labels, **found}, "spec": pod},
        },
    }
    return [account, role, binding, deployment]


def pod_monitor(*, name: str, namespace: str | None, part_of: str, labels: Mapping[str, str]) -> dict[str, Node]:
    """Return what has the Prometheus operator scrape sidecars and exporters. By pods: endpoints leave native sidecars out."""
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PodMonitor",
        "metadata": metadata(name, namespace, {"app.kubernetes.io/part-of": part_of, **labels}),
        "spec": {
            "selector": {"matchLabels": {"app.kubernetes.io/part-of": part_of}},
            "podMetricsEndpoints": [
                {"port": METRICS_PORT_NAME, "path": METRICS, "interval": _SCRAPE_INTERVAL, "honorLabels": False}
            ],
        },
    }


def _exporter(image: str, part_of: str) -> dict[str, Node]:
    discovery = f"k8s:$(POD_NAMESPACE)/app.kubernetes.io/part-of={part_of}"
    return {
        "name": "loadmonitor",
        "image": image,
        "command": ["loadmonitor", "export", "--discover", discovery, "--listen", f"0.0.0.0:{SIDE_PORT}"],
        "env": downward("POD_NAMESPACE"),
        "ports": [{"name": METRICS_PORT_NAME, "containerPort": SIDE_PORT}],
        # No readinessProbe: its /readyz says whether a worker is fresh, and is least wanted out of the way when none is.
        "livenessProbe": liveness_probe(),
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "512Mi"}},
        "securityContext": security_context(_USER),
    }
