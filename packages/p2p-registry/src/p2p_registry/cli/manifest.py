"""`p2p-registry manifest`: what a Kubernetes cluster needs for a registry, from the names and fields that the code itself uses."""

import json
import re
import sys
from typing import Annotated, Literal

from cyclopts import Parameter

from p2p_registry.backends import is_namespace
from p2p_registry.cli._cluster import rbac, server
from p2p_registry.cli._yaml import yaml_of
from p2p_registry.errors import SettingError
from p2p_registry.kubernetes.crd import custom_resource_definition

Part = Literal["crd", "rbac", "server"]
_NAME = re.compile(r"(?=.{1,63}$)[a-z]([-a-z0-9]*[a-z0-9])?")
"""What a Service may be called."""
_NAME_RULE = "up to 63 lower-case letters, digits and - in between"
_EVERYTHING: tuple[Part, ...] = ("crd", "rbac", "server")


def run_manifest(
    *parts: Part,
    image: Annotated[str | None, Parameter(show_default=False)] = None,
    name: str = "modelexpress-server",
    namespace: Annotated[str | None, Parameter(show_default=False)] = None,
    replicas: int = 2,
) -> int:
    """Print what a Kubernetes cluster needs for a registry, for `kubectl apply -f -`.

    crd is the definition of the custom resource ModelMetadata, modelexpress' own
    with columns for `kubectl get mxmeta`; a cluster has it once. rbac is the
    registry's account and its Role. server is a Deployment with its Service.

    Args:
        parts: What to print; everything by default.
        image: The server's image; it has the command p2p-registry of p2p-registry[cli,kubernetes,prometheus].
        name: Name of account, Role, Service and Deployment. By the default one modelexpress' clients find the server.
        namespace: Their namespace, where the registry keeps its workers, too; by default kubectl's.
        replicas: Number of servers.
    """
    wanted = parts or _EVERYTHING
    if replicas < 1:
        raise SettingError("replicas", replicas, "is not allowed: at least 1 is")
    if not _NAME.fullmatch(name):
        raise SettingError("name", json.dumps(name), f"is not allowed: {_NAME_RULE}, beginning with a letter, are")
    if namespace is not None and not is_namespace(namespace):
        raise SettingError("namespace", json.dumps(namespace), f"is not allowed: {_NAME_RULE} are")
    objects = []
    if "crd" in wanted:
        objects.append(custom_resource_definition())
    if "rbac" in wanted:
        objects += rbac(name, namespace)
    if "server" in wanted:
        if not image:
            raise SettingError("parts", "server", "needs --image; or print crd and rbac only")
        objects += server(name, namespace, image, replicas)
    sys.stdout.write(yaml_of(objects))
    return 0
