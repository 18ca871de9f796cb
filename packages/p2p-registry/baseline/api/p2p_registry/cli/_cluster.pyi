from _typeshed import Incomplete
from p2p_registry.cli._side_port import SIDE_PORT as SIDE_PORT
from p2p_registry.kubernetes.names import GROUP as GROUP, PLURAL as PLURAL
from p2p_registry.serving import GRACE_SECONDS as GRACE_SECONDS
from typing import Any, Final

GRPC_PORT: Final[int]
Object = dict[str, Any]
ROLE_RULES: Final[Incomplete]

def rbac(name: str, namespace: str | None) -> list[Object]: ...
def server(name: str, namespace: str | None, image: str, replicas: int) -> list[Object]: ...
