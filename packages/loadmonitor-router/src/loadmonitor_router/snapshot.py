"""What a Router knows of its fleet at one moment: immutable, complete, and truthful about what it doesn't know."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from loadmonitor_router.age import Freshness
from loadmonitor_router.connection import Connection
from loadmonitor_router.reports import NEVER_PICKED, WorkerReport, WorkerState, WorkerType


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerTarget:
    """A Worker that a Router dispatches to, and where its load is reported. Its identity is all of it.

    Attributes:
        url: Where requests go, such as `http://10.0.0.1:30000`; names the worker everywhere. Who doesn't dispatch and knows
            the load reporter only, names the worker by that: `host:port`.
        reporter: Where its load reporter listens, `host:port` or `[ipv6]:port`.
        worker_type: What it serves.
    """

    url: str
    reporter: str
    worker_type: WorkerType = WorkerType.REGULAR


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerAggregate:
    """The load of a whole Worker; a number that one of its ranks doesn't tell is None.

    Attributes:
        num_running_reqs: Sum over the ranks.
        num_waiting_reqs: Sum over the ranks.
        max_waiting_reqs: The longest queue of a rank.
        waiting_spread: Longest minus shortest queue of a rank.
        num_waiting_uncached_tokens: Sum over the ranks.
        num_used_tokens: Sum over the ranks.
        max_total_num_tokens: Sum of the capacities.
        max_running_requests: Sum of the capacities.
        token_usage: Mean of the ranks' `token_usage`, weighted by their `max_total_num_tokens`.
        max_token_usage: That of the fullest rank.
        gen_throughput: Sum over the ranks, tokens per second.
        queue_pressure_seconds: The longest time that a rank needs to prefill what waits.
    """

    num_running_reqs: int
    num_waiting_reqs: int
    max_waiting_reqs: int
    waiting_spread: int
    num_waiting_uncached_tokens: int | None
    num_used_tokens: int | None
    max_total_num_tokens: int | None
    max_running_requests: int | None
    token_usage: float | None
    max_token_usage: float | None
    gen_throughput: float | None
    queue_pressure_seconds: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerLoad:
    """One Worker as it stood when the snapshot was taken.

    Attributes:
        target: Who.
        freshness: What may be concluded; only FRESH numbers may be acted upon.
        reason: Why not FRESH, for people; None when it is.
        age_ms: Upper bound of the age of the oldest number when the snapshot was taken; None when unknown.
        receipt_age_ms: Milliseconds since the report was received; None without a report.
        report: The newest report of the present connection, kept for diagnosis whatever its age; None when there is none.
        aggregate: The report's ranks taken together; None without ranks.
        queue_pressure_seconds: By `dp_rank`, waiting uncached prefill tokens over the rank's prefill rate; None where one of
            the two isn't known.
        connection: How the stream stands.
        left_draining: Whether its last word, before the connection was lost, was DRAINING. It has not reported since.
    """

    target: WorkerTarget
    freshness: Freshness
    reason: str | None
    age_ms: float | None
    receipt_age_ms: float | None
    report: WorkerReport | None
    aggregate: WorkerAggregate | None
    queue_pressure_seconds: Mapping[int, float | None]
    connection: Connection
    left_draining: bool = False

    @property
    def worker_state(self) -> WorkerState | None:
        """Where the engine stands in its life by its newest report; None when it doesn't say.

        Of a Worker that is lost, DRAINING is remembered: it said itself that it goes. Any other state may have changed unseen.
        """
        if self.report is None:
            return WorkerState.DRAINING if self.left_draining else None
        return self.report.worker_state

    @property
    def takes_requests(self) -> bool:
        """Whether the engine may be sent new requests, as far as it tells: not while it is LOADING, DRAINING or PAUSED."""
        return self.worker_state not in NEVER_PICKED


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetSnapshot:
    """All Workers at one moment; sorted by url, and never changed.

    Attributes:
        version: Grows with every change of what the monitor knows; two snapshots of one version differ in `taken_ns` and in
            the ages, and in nothing else.
        taken_ns: When it was taken, on the monitor's monotonic clock.
        workers: By url, in the order of the urls.
    """

    version: int
    taken_ns: int
    workers: Mapping[str, WorkerLoad] = field(default_factory=lambda: MappingProxyType({}))

    def fresh_load(self, url: str) -> WorkerLoad | None:
        """Return a Worker's load if it may be acted upon, else None: also when the Worker isn't known.

        Its engine may be DRAINING for all that: `WorkerLoad.takes_requests` tells.
        """
        load = self.workers.get(url)
        return load if load is not None and load.freshness is Freshness.FRESH else None
