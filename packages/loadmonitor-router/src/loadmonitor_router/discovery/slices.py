"""From EndpointSlices to Workers.

An endpoint is a Worker when it is ready and not terminating, where "not said" counts as ready, and as not terminating.
Readiness is what its Service makes of it: a Service that publishes pods that aren't ready calls them ready. Whether it is
serving is of no account: that tells apart terminating endpoints, and those aren't given new requests either way.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from loadmonitor_router.discovery.targets import endpoint, target_set, worker_target
from loadmonitor_router.errors import WorkerListError
from loadmonitor_router.reports import WorkerType
from loadmonitor_router.snapshot import WorkerTarget

REPORTER_PORT_NAME = "lm-grpc"
"""The name of the port on which a load reporter listens."""

ROLE_LABEL = "llm-d.ai/role"
"""The label of a Service, copied to its slices, that tells what its workers serve."""

_ROLES = {
    "prefill": WorkerType.PREFILL,
    "decode": WorkerType.DECODE,
    "prefill-decode": WorkerType.REGULAR,
    "both": WorkerType.REGULAR,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceEndpoint:
    """One endpoint of a slice.

    Attributes:
        address: Its IP address.
        ready: The condition, or None where it isn't said.
        terminating: The condition, or None where it isn't said.
        pod_uid: The pod behind it, or None.
    """

    address: str
    ready: bool | None = None
    terminating: bool | None = None
    pod_uid: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointSlice:
    """What counts of an EndpointSlice of discovery.k8s.io/v1.

    Attributes:
        name: Unique in its namespace.
        is_ipv6: The addresses are of IPv6.
        labels: Its labels.
        ports: Numbers by name; "" for a port without one.
        endpoints: Who stands behind it.
    """

    name: str
    is_ipv6: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)
    ports: Mapping[str, int] = field(default_factory=dict)
    endpoints: tuple[SliceEndpoint, ...] = ()


@dataclass(slots=True)
class _Pod:
    address: str
    ports: dict[str, int] = field(default_factory=dict)
    role: str = "both"


def workers_of_slices(
    slices: Iterable[EndpointSlice], *, worker_port_name: str, reporter_port: int, scheme: str = "http"
) -> tuple[WorkerTarget, ...]:
    """Return the Workers behind slices; a pod that is in several is one Worker, with the ports of all of them.

    Args:
        slices: Those of one or more Services over the same pods; of IPv4 and IPv6 addresses, IPv4 ones are taken.
        worker_port_name: The port where requests go; where no port has the name, the only port beside the reporter's.
        reporter_port: Where the reporter listens of a pod that has no port `lm-grpc`.
        scheme: Of the workers' URLs.

    Raises:
        ConfigError: An address or a port isn't allowed.
        WorkerListError: A pod's port isn't known, or the label `llm-d.ai/role` has a value of no worker type.
    """
    pods: dict[str, _Pod] = {}
    for each in sorted(slices, key=lambda each: (each.is_ipv6, each.name)):
        for behind in each.endpoints:
            if behind.ready is False or behind.terminating is True:
                continue
            pod = pods.setdefault(behind.pod_uid or behind.address, _Pod(behind.address))
            pod.ports.update(each.ports)
            pod.role = each.labels.get(ROLE_LABEL, pod.role)
    targets = []
    for pod in pods.values():
        url = f"{scheme}://{endpoint(pod.address, _worker_port(pod, worker_port_name))}"
        if pod.role not in _ROLES:
            raise WorkerListError(f"label {ROLE_LABEL}={pod.role!r} is not allowed: one of {', '.join(_ROLES)} is")
        targets.append(worker_target(url, pod.ports.get(REPORTER_PORT_NAME, reporter_port), _ROLES[pod.role]))
    return target_set(targets)


def _worker_port(pod: _Pod, name: str) -> int:
    if name in pod.ports:
        return pod.ports[name]
    others = [port for other, port in pod.ports.items() if other != REPORTER_PORT_NAME]
    if len(others) != 1:
        raise WorkerListError(
            f"{pod.address} has the ports {sorted(pod.ports)}: one named {name!r} is needed, or a single one beside "
            f"{REPORTER_PORT_NAME!r}; name the Service's ports, or say which one takes requests"
        )
    return others[0]
