"""The store in a Kubernetes cluster: modelexpress' custom resource, one object for each worker.

`open_backend("kubernetes://NAMESPACE")` opens it; `KubernetesBackend` takes any `ObjectApi`. What the cluster needs for it is
printed by `p2p-registry manifest`.
"""

from p2p_registry.kubernetes.api import EventType, ObjectApi, ObjectList, WatchEvent
from p2p_registry.kubernetes.backend import KubernetesBackend
from p2p_registry.kubernetes.objects import Object

__all__ = ["EventType", "KubernetesBackend", "Object", "ObjectApi", "ObjectList", "WatchEvent"]
