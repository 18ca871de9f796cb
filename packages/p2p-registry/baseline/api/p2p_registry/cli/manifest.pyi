from _typeshed import Incomplete
from p2p_registry.backends import is_namespace as is_namespace
from p2p_registry.cli._cluster import rbac as rbac, server as server
from p2p_registry.cli._yaml import yaml_of as yaml_of
from p2p_registry.errors import SettingError as SettingError
from p2p_registry.kubernetes.crd import custom_resource_definition as custom_resource_definition

Part: Incomplete

def run_manifest(*parts: Part, image: str | None = None, name: str = 'modelexpress-server', namespace: str | None = None, replicas: int = 2) -> int: ...
