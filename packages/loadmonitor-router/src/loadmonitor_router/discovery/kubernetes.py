"""Workers behind Services of a Kubernetes cluster, by their EndpointSlices: listed once, then watched."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from typing import Self

from loadmonitor_router._clock import Signal, SystemClock
from loadmonitor_router.discovery._lightkube import LightkubeSlices
from loadmonitor_router.discovery.interfaces import EndpointSliceApi, SliceEvent, SliceEventType
from loadmonitor_router.discovery.slices import EndpointSlice, workers_of_slices
from loadmonitor_router.discovery.targets import DEFAULT_REPORTER_PORT, check_port
from loadmonitor_router.errors import ConfigError, LoadMonitorRouterError, WatchExpiredError
from loadmonitor_router.interfaces import Clock
from loadmonitor_router.snapshot import WorkerTarget

_NS_PER_SECOND = 1_000_000_000
_RETRY_SECONDS = 5.0
_RELIST_SECONDS = 1.0


class KubernetesDiscovery:
    """A Discovery of the pods behind Services.

    Which endpoints count, and where they listen, stands in `loadmonitor_router.discovery.slices`. Everything is listed once,
    and then watched; it is listed again when the watch fails or has expired, and every `resync_seconds` in any case, so that
    a connection that died without a word is noticed.
    """

    def __init__(
        self,
        namespace: str,
        selector: Mapping[str, str],
        *,
        worker_port_name: str = "http",
        reporter_port: int = DEFAULT_REPORTER_PORT,
        resync_seconds: float = 300.0,
        api: EndpointSliceApi | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Name the Services.

        Args:
            namespace: Theirs.
            selector: Labels of their EndpointSlices, which carry their Service's labels and `kubernetes.io/service-name`.
            worker_port_name: The Service's port where requests go; a Service with a single port beside `lm-grpc` may name
                it otherwise.
            reporter_port: Where the reporter listens of a pod that has no port `lm-grpc`.
            resync_seconds: Longest time between two lists; above 0.
            api: The cluster; that of the service account or of the kubeconfig unless given.
            clock: Time; the machine's unless given.

        Raises:
            ConfigError: A setting isn't allowed, or there is no cluster configuration.
        """
        if not namespace or not selector:
            raise ConfigError(
                f"namespace={namespace!r} and selector={dict(selector)!r} are not allowed: name a namespace and a label, "
                "such as kubernetes.io/service-name=workers"
            )
        if not resync_seconds > 0:
            raise ConfigError(f"resync_seconds={resync_seconds!r} is not allowed: a number of seconds above 0 is")
        check_port("reporter_port", reporter_port)
        self._worker_port_name = worker_port_name
        self._reporter_port = reporter_port
        self._resync_ns = int(resync_seconds * _NS_PER_SECOND)
        self._api: EndpointSliceApi = LightkubeSlices(namespace, selector) if api is None else api
        self._clock: Clock = SystemClock() if clock is None else clock
        self._wake = Signal(self._clock)
        self._slices: dict[str, EndpointSlice] = {}
        self._watch: AsyncGenerator[SliceEvent] | None = None
        self._event: asyncio.Task[SliceEvent] | None = None
        self._list_ns = self._clock.monotonic_ns()
        self._shown: tuple[WorkerTarget, ...] | None = None
        self._last_error: str | None = None
        self._closed = False

    @property
    def last_error(self) -> str | None:
        """Why the last look failed, for people; None when it didn't."""
        return self._last_error

    def __aiter__(self) -> Self:
        """Return itself."""
        return self

    async def __anext__(self) -> tuple[WorkerTarget, ...]:
        """Wait for a set that differs from the one before."""
        while not self._closed:
            try:
                if self._clock.monotonic_ns() >= self._list_ns:
                    await self._list()
                elif not await self._next_event():
                    continue
                found = workers_of_slices(
                    self._slices.values(), worker_port_name=self._worker_port_name, reporter_port=self._reporter_port
                )
            except WatchExpiredError:
                self._list_after(_RELIST_SECONDS)
            except LoadMonitorRouterError as error:
                self._last_error = str(error)
                if self._watch is None:
                    self._list_after(_RETRY_SECONDS)
            else:
                self._last_error = None
                if found != self._shown:
                    self._shown = found
                    return found
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """End the iteration, also one that is waiting, and let go of the connections."""
        self._closed = True
        self._wake.set()
        await self._end_watch()
        await self._api.aclose()

    async def _list(self) -> None:
        await self._end_watch()
        version, slices = await self._api.list()
        self._slices = {each.name: each for each in slices}
        self._watch = self._api.watch(version)
        self._list_ns = self._clock.monotonic_ns() + self._resync_ns

    async def _next_event(self) -> bool:
        """Wait for an event of the watch, or for the next list; tell whether a slice has changed."""
        if self._event is None and self._watch is not None:
            self._event = asyncio.ensure_future(anext(self._watch))
            self._event.add_done_callback(self._wake.set)
        await self._wake.wait(self._list_ns)
        if self._event is None or not self._event.done():
            return False
        task, self._event = self._event, None
        try:
            event = task.result()
        except LoadMonitorRouterError:
            self._watch = None
            raise
        if event.type is SliceEventType.BOOKMARK:
            return False
        if event.type is SliceEventType.DELETED:
            self._slices.pop(event.slice.name, None)
        else:
            self._slices[event.slice.name] = event.slice
        return True

    def _list_after(self, seconds: float) -> None:
        self._list_ns = self._clock.monotonic_ns() + int(seconds * _NS_PER_SECOND)

    async def _end_watch(self) -> None:
        (task, watch), self._event, self._watch = (self._event, self._watch), None, None
        if task is not None:
            task.cancel()
            await asyncio.wait({task})
        if watch is not None:
            await watch.aclose()
