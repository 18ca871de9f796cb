from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from loadmonitor_router.discovery.targets import endpoint as endpoint, target_set as target_set, worker_target as worker_target
from loadmonitor_router.errors import WorkerListError as WorkerListError
from loadmonitor_router.reports import WorkerType as WorkerType
from loadmonitor_router.snapshot import WorkerTarget as WorkerTarget

REPORTER_PORT_NAME: str
ROLE_LABEL: str

@dataclass(frozen=True, slots=True, kw_only=True)
class SliceEndpoint:
    address: str
    ready: bool | None = ...
    terminating: bool | None = ...
    pod_uid: str | None = ...

@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointSlice:
    name: str
    is_ipv6: bool = ...
    labels: Mapping[str, str] = field(default_factory=dict)
    ports: Mapping[str, int] = field(default_factory=dict)
    endpoints: tuple[SliceEndpoint, ...] = ...

@dataclass(slots=True)
class _Pod:
    address: str
    ports: dict[str, int] = field(default_factory=dict)
    role: str = ...

def workers_of_slices(slices: Iterable[EndpointSlice], *, worker_port_name: str, reporter_port: int, scheme: str = 'http') -> tuple[WorkerTarget, ...]: ...
