from p2p_registry.kubernetes.api import EventType as EventType, ObjectApi as ObjectApi, ObjectList as ObjectList, WatchEvent as WatchEvent
from p2p_registry.kubernetes.backend import KubernetesBackend as KubernetesBackend
from p2p_registry.kubernetes.objects import Object as Object

__all__ = ['EventType', 'ObjectApi', 'ObjectList', 'WatchEvent', 'KubernetesBackend', 'Object']
