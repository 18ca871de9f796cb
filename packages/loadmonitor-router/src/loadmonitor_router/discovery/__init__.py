"""Finding Workers: in a list, a file, the DNS, a Kubernetes cluster or at a router, all behind one Protocol.

    async with aclosing(parse_discovery("dns:workers.default.svc.cluster.local:30000")) as discovery:
        async for workers in discovery:
            ...  # a complete tuple of WorkerTarget, each time something has changed

`DnsDiscovery` and `SrvDiscovery` need the extra `dns`, `RouterDiscovery` the extra `router`, `KubernetesDiscovery` the extra
`kubernetes`; they are imported when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from loadmonitor_router.discovery.file import FileDiscovery, parse_worker_file
from loadmonitor_router.discovery.interfaces import Discovery, EndpointSliceApi, SliceEvent, SliceEventType
from loadmonitor_router.discovery.slices import (
    REPORTER_PORT_NAME,
    ROLE_LABEL,
    EndpointSlice,
    SliceEndpoint,
    workers_of_slices,
)
from loadmonitor_router.discovery.spec import FORMS, parse_discovery
from loadmonitor_router.discovery.static import StaticDiscovery
from loadmonitor_router.discovery.targets import (
    DEFAULT_REPORTER_PORT,
    base_url,
    reporter_endpoint,
    target_set,
    worker_target,
)
from loadmonitor_router.discovery.worker_list import REPORTER_PORT_LABEL, parse_worker_list
from loadmonitor_router.errors import MissingExtraError

if TYPE_CHECKING:
    from loadmonitor_router.discovery.dns import EMPTY_AFTER, DnsDiscovery, LookupConfig, SrvDiscovery
    from loadmonitor_router.discovery.kubernetes import KubernetesDiscovery
    from loadmonitor_router.discovery.router import RouterDiscovery

__all__ = [
    "DEFAULT_REPORTER_PORT",
    "EMPTY_AFTER",
    "FORMS",
    "REPORTER_PORT_LABEL",
    "REPORTER_PORT_NAME",
    "ROLE_LABEL",
    "Discovery",
    "DnsDiscovery",
    "EndpointSlice",
    "EndpointSliceApi",
    "FileDiscovery",
    "KubernetesDiscovery",
    "LookupConfig",
    "RouterDiscovery",
    "SliceEndpoint",
    "SliceEvent",
    "SliceEventType",
    "SrvDiscovery",
    "StaticDiscovery",
    "base_url",
    "parse_discovery",
    "parse_worker_file",
    "parse_worker_list",
    "reporter_endpoint",
    "target_set",
    "worker_target",
    "workers_of_slices",
]

_LAZY = {  # the module, which is also the name of the extra
    "EMPTY_AFTER": "dns",
    "DnsDiscovery": "dns",
    "KubernetesDiscovery": "kubernetes",
    "LookupConfig": "dns",
    "RouterDiscovery": "router",
    "SrvDiscovery": "dns",
}
_THIRD_PARTY = {"dns": {"dns"}, "kubernetes": {"lightkube", "httpx2"}, "router": {"httpx"}}


def __getattr__(name: str) -> Any:
    """Import what needs an extra when it is first used."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    extra = _LAZY[name]
    try:
        return getattr(import_module(f"{__name__}.{extra}"), name)
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.partition(".")[0] in _THIRD_PARTY[extra]:
            raise MissingExtraError(name, extra) from error
        raise
