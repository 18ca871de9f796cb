"""What is known of one Worker, and how it looks at a given moment.

A `WorkerView` is replaced whenever something about its Worker changes. Time alone changes only the ages and the verdict, so
a snapshot holds the views and one moment, and makes a Worker's `WorkerLoad` when it is asked for it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from loadmonitor_router.age import Freshness, age_ms, assess
from loadmonitor_router.aggregate import aggregate_ranks
from loadmonitor_router.connection import Connection, ConnectionState
from loadmonitor_router.pressure import queue_pressure_seconds
from loadmonitor_router.reports import WorkerReport, WorkerState
from loadmonitor_router.snapshot import WorkerAggregate, WorkerLoad, WorkerTarget

_NS_PER_MS = 1_000_000
_NO_PRESSURE: Mapping[int, float | None] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerView:
    """One Worker, as far as it doesn't depend on the time.

    Attributes:
        target: Who.
        connection: How its stream stands.
        freshness_ms: The freshness window.
        report: The newest report of the present connection, or None.
        aggregate: Its ranks taken together, or None.
        queue_pressure_seconds: By `dp_rank`.
        received_age_ms: The age of its oldest number when it was received; None when unknown.
        fresh_until_ns: The last moment at which it may be called FRESH; None when it never may, or no longer.
        left_draining: Whether its last word, before the connection was lost, was DRAINING.
    """

    target: WorkerTarget
    connection: Connection
    freshness_ms: int
    report: WorkerReport | None = None
    aggregate: WorkerAggregate | None = None
    queue_pressure_seconds: Mapping[int, float | None] = field(default_factory=lambda: _NO_PRESSURE)
    received_age_ms: float | None = None
    fresh_until_ns: int | None = None
    left_draining: bool = False

    def at(self, now_ns: int) -> WorkerLoad:
        """Return the Worker as it stands at `now_ns`, on the clock that received the report."""
        report, age = self.report, None
        receipt_age_ms = None if report is None else (now_ns - report.receipt.monotonic_ns) / _NS_PER_MS
        if receipt_age_ms is None:
            freshness, reason = Freshness.MISSING, _why_missing(self.connection)
        elif self.received_age_ms is not None and self.fresh_until_ns is not None and now_ns <= self.fresh_until_ns:
            freshness, reason, age = Freshness.FRESH, None, self.received_age_ms + receipt_age_ms
        else:
            verdict = assess(report, now_ns, self.freshness_ms)
            freshness, reason, age = verdict.freshness, self._explained(verdict.reason), verdict.age_ms
        return WorkerLoad(
            target=self.target,
            freshness=freshness,
            reason=reason,
            age_ms=age,
            receipt_age_ms=receipt_age_ms,
            report=report,
            aggregate=self.aggregate,
            queue_pressure_seconds=self.queue_pressure_seconds,
            connection=self.connection,
            left_draining=self.left_draining,
        )

    def _explained(self, reason: str | None) -> str | None:
        narrow = narrow_window(self.connection, self.freshness_ms)
        return reason if reason is None or narrow is None else f"{reason}; {narrow}"


def view_connection(before: WorkerView, connection: Connection) -> WorkerView:
    """Return the view after news of the connection; a connection that is lost takes its report with it."""
    if connection.state is ConnectionState.REGISTERED:
        return replace(before, connection=connection)
    drained = before.report is not None and before.report.worker_state is WorkerState.DRAINING
    return WorkerView(
        target=before.target,
        connection=connection,
        freshness_ms=before.freshness_ms,
        left_draining=drained or before.left_draining,
    )


def view_report(
    before: WorkerView, connection: Connection, report: WorkerReport, rates: Mapping[int, float | None]
) -> WorkerView:
    """Return the view after a report that was just received.

    Args:
        before: The Worker's view until now.
        connection: How its stream stands.
        report: The report.
        rates: Prefill rates by `dp_rank`.
    """
    target, freshness_ms = before.target, before.freshness_ms
    pressure = {
        rank.dp_rank: queue_pressure_seconds(rank.num_waiting_uncached_tokens, rates[rank.dp_rank])
        for rank in report.ranks
    }
    received_ns = report.receipt.monotonic_ns
    age = age_ms(report, received_ns)
    fresh = assess(report, received_ns, freshness_ms).freshness is Freshness.FRESH
    return WorkerView(
        target=target,
        connection=connection,
        freshness_ms=freshness_ms,
        report=report,
        aggregate=aggregate_ranks(report.ranks, pressure),
        queue_pressure_seconds=MappingProxyType(pressure),
        received_age_ms=age,
        fresh_until_ns=received_ns + int((freshness_ms - age) * _NS_PER_MS) if fresh and age is not None else None,
    )


def narrow_window(connection: Connection, freshness_ms: int) -> str | None:
    """Return what is wrong when the Worker grants reports so rarely that its load can't stay fresh, or None."""
    interval_ms = None if connection.grant is None else connection.grant.report_interval_ms
    if interval_ms is None or freshness_ms >= 2 * interval_ms:
        return None
    return (
        f"the Worker grants a report every {interval_ms} ms, too rare for freshness_ms={freshness_ms}: allow at least "
        f"{2 * interval_ms}, or let the Worker grant a shorter interval"
    )


def _why_missing(connection: Connection) -> str:
    if connection.state is ConnectionState.REGISTERED:
        reason = "registered, no report yet"
        return reason if connection.last_drop is None else f"{reason}; dropped: {connection.last_drop}"
    return connection.last_error or f"{connection.state}, no report yet"


class WorkersAt(Mapping[str, WorkerLoad]):
    """The Workers of a snapshot by url: each is worked out when it is asked for, and stays as it is then."""

    __slots__ = ("_loads", "_now_ns", "_views")

    def __init__(self, views: Mapping[str, WorkerView], now_ns: int) -> None:
        """Hold views that nobody changes any more, and the moment of the snapshot."""
        self._views = views
        self._now_ns = now_ns
        self._loads: dict[str, WorkerLoad] = {}

    def __getitem__(self, url: str) -> WorkerLoad:
        """Return a Worker as it stood when the snapshot was taken."""
        load = self._loads.get(url)
        if load is None:
            load = self._loads.setdefault(url, self._views[url].at(self._now_ns))
        return load

    def __iter__(self) -> Iterator[str]:
        """Iterate over the urls in their order."""
        return iter(self._views)

    def __len__(self) -> int:
        """Return the number of Workers."""
        return len(self._views)

    def __repr__(self) -> str:
        """Show the Workers as a dict does."""
        return repr(dict(self))
