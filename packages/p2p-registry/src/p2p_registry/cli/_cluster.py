"""The Kubernetes objects of a registry that keeps its workers in its own namespace."""

from collections.abc import Mapping
from typing import Any, Final

from p2p_registry.cli._side_port import SIDE_PORT
from p2p_registry.kubernetes.names import GROUP, PLURAL
from p2p_registry.serving import GRACE_SECONDS

GRPC_PORT: Final = 8001
"""Where modelexpress' clients look for a server."""
_GRPC = "grpc"
_METRICS = "metrics"
_USER = 65_532
_ROUTES_SECONDS = 5
"""After a pod's end began, what it may take until nobody dials it any more."""

Object = dict[str, Any]

ROLE_RULES: Final = (
    {
        "apiGroups": [GROUP],
        "resources": [PLURAL],
        "verbs": ["get", "list", "watch", "create", "update", "patch", "delete"],
    },
    {"apiGroups": [GROUP], "resources": [f"{PLURAL}/status"], "verbs": ["get", "update", "patch"]},
    {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "create", "update", "patch", "delete"]},
)
"""What the account of a registry may do; with these it may also run modelexpress' own server."""


def rbac(name: str, namespace: str | None) -> list[Object]:
    """Return a registry's account, and what it may do in its namespace."""
    subject = {"kind": "ServiceAccount", "name": name} | ({} if namespace is None else {"namespace": namespace})
    return [
        _object("v1", "ServiceAccount", name, namespace, {"automountServiceAccountToken": False}),
        _object("rbac.authorization.k8s.io/v1", "Role", name, namespace, {"rules": list(ROLE_RULES)}),
        _object(
            "rbac.authorization.k8s.io/v1",
            "RoleBinding",
            name,
            namespace,
            {
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
                "subjects": [subject],
            },
        ),
    ]


def server(name: str, namespace: str | None, image: str, replicas: int) -> list[Object]:
    """Return replicas of a registry, and the Service by which publishers and pullers find them."""
    selector = {"matchLabels": _selector(name)}
    spec = {
        # Headless: over one address HTTP/2 would keep every client at one replica, also when others come.
        "clusterIP": "None",
        "selector": _selector(name),
        "ports": [{"name": _GRPC, "port": GRPC_PORT, "targetPort": _GRPC}],
    }
    pods = {"metadata": {"labels": _labels(name)}, "spec": _pod(name, image)}
    return [
        _object("v1", "Service", name, namespace, {"spec": spec}),
        _object(
            "policy/v1", "PodDisruptionBudget", name, namespace, {"spec": {"maxUnavailable": 1, "selector": selector}}
        ),
        _object(
            "apps/v1",
            "Deployment",
            name,
            namespace,
            {"spec": {"replicas": replicas, "selector": selector, "template": pods}},
        ),
    ]


def _pod(name: str, image: str) -> Object:
    return {
        "serviceAccountName": name,
        "automountServiceAccountToken": True,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": _ROUTES_SECONDS + int(GRACE_SECONDS) + 10,
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "kubernetes.io/hostname",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": _selector(name)},
            }
        ],
        "containers": [_container(image)],
    }


def _container(image: str) -> Object:
    every_interface = "0.0.0.0"  # noqa: S104 - clients, kubelets and scrapers come from outside the pod
    command = ["p2p-registry", "serve", "--listen", f"{every_interface}:{GRPC_PORT}"]
    command += ["--backend", "kubernetes://$(POD_NAMESPACE)", "--http-host", every_interface]
    command += ["--http-port", str(SIDE_PORT), "--log-format", "json"]
    return {
        "name": "p2p-registry",
        "image": image,
        "command": command,
        "env": [{"name": "POD_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}}],
        "ports": [{"name": _GRPC, "containerPort": GRPC_PORT}, {"name": _METRICS, "containerPort": SIDE_PORT}],
        "lifecycle": {"preStop": {"sleep": {"seconds": _ROUTES_SECONDS}}},
        # Alive says nothing of the store: a restart wouldn't mend that.
        "livenessProbe": {"httpGet": {"path": "/livez", "port": _METRICS}, "periodSeconds": 10, "timeoutSeconds": 5},
        "readinessProbe": {"httpGet": {"path": "/readyz", "port": _METRICS}, "periodSeconds": 5, "timeoutSeconds": 5},
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "512Mi"}},
        "securityContext": {
            "runAsUser": _USER,
            "runAsNonRoot": True,
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }


def _selector(name: str) -> dict[str, str]:
    return {"app.kubernetes.io/name": name}


def _labels(name: str) -> dict[str, str]:
    return _selector(name) | {"app.kubernetes.io/component": "p2p-registry"}


def _object(api_version: str, kind: str, name: str, namespace: str | None, rest: Mapping[str, Any]) -> Object:
    place = {} if namespace is None else {"namespace": namespace}
    metadata = {"name": name, **place, "labels": _labels(name)}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **rest}
