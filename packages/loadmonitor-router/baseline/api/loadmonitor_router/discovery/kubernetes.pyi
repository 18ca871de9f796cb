from collections.abc import Mapping
from loadmonitor_router._clock import Signal as Signal, SystemClock as SystemClock
from loadmonitor_router.discovery._lightkube import LightkubeSlices as LightkubeSlices
from loadmonitor_router.discovery.interfaces import EndpointSliceApi as EndpointSliceApi, SliceEvent as SliceEvent, SliceEventType as SliceEventType
from loadmonitor_router.discovery.slices import EndpointSlice as EndpointSlice, workers_of_slices as workers_of_slices
from loadmonitor_router.discovery.targets import DEFAULT_REPORTER_PORT as DEFAULT_REPORTER_PORT, check_port as check_port
from loadmonitor_router.errors import ConfigError as ConfigError, LoadMonitorRouterError as LoadMonitorRouterError, WatchExpiredError as WatchExpiredError
from loadmonitor_router.interfaces import Clock as Clock
from loadmonitor_router.snapshot import WorkerTarget as WorkerTarget
from typing import Self

class KubernetesDiscovery:
    def __init__(self, namespace: str, selector: Mapping[str, str], *, worker_port_name: str = 'http', reporter_port: int = ..., resync_seconds: float = 300.0, api: EndpointSliceApi | None = None, clock: Clock | None = None) -> None: ...
    @property
    def last_error(self) -> str | None: ...
    def __aiter__(self) -> Self: ...
    async def __anext__(self) -> tuple[WorkerTarget, ...]: ...
    async def aclose(self) -> None: ...
