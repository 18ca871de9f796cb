"""What Kubernetes objects of several kinds have in common: names of ports, metadata, probes, a container's variables and rights."""

from typing import Final

from loadmonitor_worker.cli._side_port import LIVEZ, METRICS
from loadmonitor_worker.cli._yaml import Node

GRPC_PORT_NAME: Final = "lm-grpc"
"""By this name routers find the port in an EndpointSlice; no other port of the pod has it."""
METRICS_PORT_NAME: Final = "lm-metrics"
DOWNWARD: Final = {
    "POD_NAME": "metadata.name",
    "POD_NAMESPACE": "metadata.namespace",
    "POD_IP": "status.podIP",
    "POD_UID": "metadata.uid",
    "NODE_NAME": "spec.nodeName",
}
"""The variables that tell a container about its pod, and the field of each."""


def metadata(name: str, namespace: str | None, labels: dict[str, Node]) -> dict[str, Node]:
    """Return an object's metadata."""
    named: dict[str, Node] = {"name": name}
    return named | ({} if namespace is None else {"namespace": namespace}) | {"labels": labels}


def scrape_annotations(port: int) -> dict[str, Node]:
    """Return the annotations by which a Prometheus without an operator finds a pod."""
    return {"prometheus.io/scrape": "true", "prometheus.io/port": str(port), "prometheus.io/path": METRICS}


def liveness_probe() -> dict[str, Node]:
    """Return the only probe. It is HTTP because a kubelet's gRPC probe can't authenticate itself."""
    return {"httpGet": {"path": LIVEZ, "port": METRICS_PORT_NAME}, "periodSeconds": 10, "timeoutSeconds": 5}


def security_context(user: int) -> dict[str, Node]:
    """Return a container's security context: nothing beyond its user."""
    return {
        "runAsUser": user,
        "runAsNonRoot": user != 0,
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def downward(*names: str) -> list[Node]:
    """Return variables that tell a container about its pod."""
    return [{"name": name, "valueFrom": {"fieldRef": {"fieldPath": DOWNWARD[name]}}} for name in names]
