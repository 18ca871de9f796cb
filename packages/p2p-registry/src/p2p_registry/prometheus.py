"""What a registry does, for Prometheus; needs the extra `[prometheus]`.

The families stand in a registry of their own, because a modelexpress in the same process has its own `mx_build_info` in another. To
count, and to serve the counts::

    metrics = RegistryMetrics(backend="memory")
    backend = metrics.watching(MemoryBackend())
    async with RegistryServer(backend, config, observer=metrics) as server:
        prometheus_client.start_http_server(9401, registry=metrics.registry)
"""

from collections import Counter as Count
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from typing import Final

from google.protobuf.message import Message
from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from p2p_registry.errors import BackendError, RecordRefusedError
from p2p_registry.interfaces import Backend, UpdateOutcome
from p2p_registry.records import SourceStatus, WorkerKey, WorkerRecord, WorkerState, WorkerSummary
from p2p_registry.wire import UpdateStatusRequest, UpdateStatusResponse

__all__ = ["RegistryMetrics"]

METHODS: Final = ("PublishMetadata", "UpdateStatus", "ListSources", "GetMetadata")
CODES: Final = ("OK", "UNAUTHENTICATED", "RESOURCE_EXHAUSTED")
"""Codes whose series are there from the start; others come with their first call."""
OPERATIONS: Final = ("publish", "update_state", "get", "summaries", "mark_stale", "remove", "ping")
SECONDS_BUCKETS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)


class RegistryMetrics:
    """A `CallObserver` that counts for Prometheus, and watches a store.

    Args:
        backend: The kind of store, for the label of `mx_build_info`, such as `redis`.
        scheme: The label `scheme` there, which tells deployments apart; modelexpress takes it from MX_METRICS_SCHEME.

    Attributes:
        registry: The registry that holds the families.
    """

    def __init__(self, *, backend: str, scheme: str = "") -> None:
        self.registry: CollectorRegistry = CollectorRegistry()
        self._calls = Counter(
            "p2p_registry_rpcs_total",
            "Calls that have ended, by gRPC code; a refusal in an answer is OK.",
            ["method", "code"],
            registry=self.registry,
        )
        self._seconds = Histogram(
            "p2p_registry_rpc_duration_seconds",
            "Seconds from the parsed request to the answer.",
            ["method"],
            buckets=SECONDS_BUCKETS,
            registry=self.registry,
        )
        self._heartbeats = Counter(
            "p2p_registry_heartbeats_total",
            "Status updates by whether they were accepted and whether they carried a load.",
            ["result", "load"],
            registry=self.registry,
        )
        self._reaped = Counter(
            "p2p_registry_reaped_total",
            "Silent workers that this replica marked stale or removed.",
            ["action"],
            registry=self.registry,
        )
        self._errors = Counter(
            "p2p_registry_backend_errors_total", "Failures of the store, by operation.", ["op"], registry=self.registry
        )
        self._found = _Found(backend, scheme)
        self.registry.register(self._found)
        # From the start, so that the first event is an increase.
        for method in METHODS:
            self._seconds.labels(method)
            for code in CODES:
                self._calls.labels(method, code)
        for result in ("accepted", "refused"):
            for load in ("known", "unknown"):
                self._heartbeats.labels(result, load)
        for action in ("marked_stale", "removed"):
            self._reaped.labels(action)
        for operation in OPERATIONS:
            self._errors.labels(operation)

    def answered(self, method: str, code: str, seconds: float, request: Message | None, answer: Message | None) -> None:
        """Count a call."""
        self._calls.labels(method, code).inc()
        self._seconds.labels(method).observe(seconds)
        if isinstance(request, UpdateStatusRequest) and isinstance(answer, UpdateStatusResponse):
            load = "known" if request.HasField("source_load") else "unknown"
            self._heartbeats.labels("accepted" if answer.success else "refused", load).inc()

    def watching(self, backend: Backend) -> Backend:
        """Return a backend that does what `backend` does, and has it counted."""
        return _Watched(backend, self._found, self._errors, self._reaped)


class _Found(Collector):
    """What was last seen of the store; what isn't known has no series."""

    def __init__(self, backend: str, scheme: str) -> None:
        self._build = ["server", version("p2p-registry"), backend, scheme]
        self.sources: Count[SourceStatus] | None = None
        self.up: bool | None = None

    def collect(self) -> Iterator[GaugeMetricFamily]:
        build = GaugeMetricFamily(
            "mx_build_info",
            "Always 1; the labels are of this server.",
            labels=["component", "version", "backend", "scheme"],
        )
        build.add_metric(self._build, 1)
        yield build
        sources = GaugeMetricFamily(
            "p2p_registry_sources",
            "Workers in the store by status, as it was last listed as a whole; no series while that fails.",
            labels=["status"],
        )
        if self.sources is not None:
            for status in SourceStatus:
                sources.add_metric([status.name], self.sources[status])
        yield sources
        up = GaugeMetricFamily("p2p_registry_backend_up", "1 while the store answers pings, 0 while it doesn't.")
        if self.up is not None:
            up.add_metric([], self.up)
        yield up


class _Watched:
    """A `Backend` that counts what becomes of another one's work."""

    def __init__(self, backend: Backend, found: _Found, errors: Counter, reaped: Counter) -> None:
        self._backend = backend
        self._found = found
        self._errors = errors
        self._reaped = reaped

    @contextmanager
    def _counting(self, operation: str) -> Iterator[None]:
        try:
            yield
        except RecordRefusedError:
            raise  # the publisher's fault, not the store's
        except BackendError:
            self._errors.labels(operation).inc()
            raise

    async def publish(self, record: WorkerRecord) -> None:
        with self._counting("publish"):
            await self._backend.publish(record)

    async def update_state(self, key: WorkerKey, state: WorkerState) -> UpdateOutcome:
        with self._counting("update_state"):
            return await self._backend.update_state(key, state)

    async def get(self, source_id: str, worker_id: str) -> WorkerRecord | None:
        with self._counting("get"):
            return await self._backend.get(source_id, worker_id)

    async def summaries(self, source_id: str | None) -> Sequence[WorkerSummary]:
        try:
            with self._counting("summaries"):
                listed = await self._backend.summaries(source_id)
        except BackendError:
            self._found.sources = None
            raise
        if source_id is None:
            self._found.sources = Count(summary.state.status for summary in listed)
        return listed

    async def mark_stale(self, source_id: str, worker_id: str, not_after_ms: int) -> bool:
        with self._counting("mark_stale"):
            marked = await self._backend.mark_stale(source_id, worker_id, not_after_ms)
        self._reaped.labels("marked_stale").inc(marked)
        return marked

    async def remove(self, source_id: str, worker_id: str, not_after_ms: int) -> bool:
        with self._counting("remove"):
            removed = await self._backend.remove(source_id, worker_id, not_after_ms)
        self._reaped.labels("removed").inc(removed)
        return removed

    async def ping(self) -> None:
        up = False
        try:
            with self._counting("ping"):
                await self._backend.ping()
            up = True
        finally:
            self._found.up = up

    async def aclose(self) -> None:
        await self._backend.aclose()
