"""A reporter's own metrics for Prometheus, and the one table that the exporter and the documents read.

    registry = make_registry(reporter)
    prometheus_client.start_http_server(9464, registry=registry)

The table needs nothing; `make_registry` needs the extra `[prometheus]`. The registry is its own, so nothing of the engine's is
exported with it, and an engine in multiprocess mode (PROMETHEUS_MULTIPROC_DIR) is left alone.
"""

import importlib.util
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from loadmonitor_worker.errors import MissingExtraError
from loadmonitor_worker.reporter import LoadReporter

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

__all__ = ["FAMILIES", "MetricFamily", "make_registry", "markdown_table"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricFamily:
    """One metric family.

    Attributes:
        name: Its name in the exposition; a counter's with `_total`.
        kind: Its type, in Prometheus' words.
        unit: Of its numbers, for people.
        label: Its label, or None.
        help: What it is, in one sentence.
    """

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    unit: str
    label: str | None = None
    help: str


FIRES = MetricFamily(
    name="loadmonitor_worker_fires_total",
    kind="counter",
    unit="reads",
    help="Moments at which the engine was read and a report was built.",
)
REPORTS = MetricFamily(
    name="loadmonitor_worker_reports_total",
    kind="counter",
    unit="reports",
    label="status",
    help="Reports handed to routers' streams, one a router, by status.",
)
COALESCED = MetricFamily(
    name="loadmonitor_worker_coalesced_reports_total",
    kind="counter",
    unit="reports",
    help="Reports that a router did not get, because it was behind.",
)
UNACKED = MetricFamily(
    name="loadmonitor_worker_unacked_reports",
    kind="gauge",
    unit="reports",
    help="Reports that routers have not acknowledged yet.",
)
SESSIONS = MetricFamily(
    name="loadmonitor_worker_sessions", kind="gauge", unit="routers", help="Routers that are registered."
)
ORCA_STREAMS = MetricFamily(
    name="loadmonitor_worker_orca_streams",
    kind="gauge",
    unit="streams",
    help="ORCA clients that are reported to; they do not count as routers.",
)
SESSION_EVENTS = MetricFamily(
    name="loadmonitor_worker_session_events_total",
    kind="counter",
    unit="events",
    label="event",
    help="What became of routers' sessions.",
)
REFUSED = MetricFamily(
    name="loadmonitor_worker_refused_total",
    kind="counter",
    unit="streams",
    label="code",
    help="Streams ended for what their router did, by error code.",
)
PULL_DURATION = MetricFamily(
    name="loadmonitor_worker_pull_duration_seconds",
    kind="histogram",
    unit="seconds",
    help="Time from the start of a read of the engine to its outcome; of a read that hangs, so far.",
)
FIRE_LAG = MetricFamily(
    name="loadmonitor_worker_fire_lag_seconds",
    kind="histogram",
    unit="seconds",
    help="How late the reporter was at a router's deadline.",
)
SNAPSHOT_AGE = MetricFamily(
    name="loadmonitor_worker_snapshot_age_seconds",
    kind="histogram",
    unit="seconds",
    help="Age of the oldest rank when a report was built, where it is known.",
)
SENT_BYTES = MetricFamily(
    name="loadmonitor_worker_sent_bytes_total",
    kind="counter",
    unit="bytes",
    help="Frames written to routers, without what HTTP/2 adds.",
)
CLAMPED = MetricFamily(
    name="loadmonitor_worker_clamped_values_total",
    kind="counter",
    unit="values",
    help="Loads above their capacity that were capped.",
)
STATE = MetricFamily(
    name="loadmonitor_worker_state",
    kind="gauge",
    unit="0 or 1",
    label="state",
    help="1 for the state of the engine that routers are told; no series while none is told.",
)
BUILD_INFO = MetricFamily(
    name="loadmonitor_worker_build_info",
    kind="gauge",
    unit="0 or 1",
    label="version",
    help="Always 1; the label tells the version of loadmonitor-worker.",
)

FAMILIES: tuple[MetricFamily, ...] = (
    FIRES,
    REPORTS,
    COALESCED,
    UNACKED,
    SESSIONS,
    ORCA_STREAMS,
    SESSION_EVENTS,
    REFUSED,
    PULL_DURATION,
    FIRE_LAG,
    SNAPSHOT_AGE,
    SENT_BYTES,
    CLAMPED,
    STATE,
    BUILD_INFO,
)
"""Every family, in the order of the exposition."""


def make_registry(reporter: LoadReporter) -> "CollectorRegistry":
    """Return a registry that exports one reporter, and start measuring what costs something.

    Scrape it on the reporter's event loop, or on another thread: what is read are numbers that only the loop writes.

    Raises:
        MissingExtraError: The extra `[prometheus]` isn't installed.
    """
    if importlib.util.find_spec("prometheus_client") is None:
        raise MissingExtraError("exporting metrics", "prometheus")
    from loadmonitor_worker._collector import ReporterCollector, registry_of  # noqa: PLC0415 - needs the extra

    reporter.measure()
    return registry_of(ReporterCollector(reporter))


def markdown_table() -> str:
    """Return the families as a Markdown table, a row each, for the documents."""
    rows = ["| family | type | label | unit | meaning |", "|---|---|---|---|---|"]
    for family in FAMILIES:
        label = "none" if family.label is None else f"`{family.label}`"
        rows.append(f"| `{family.name}` | {family.kind} | {label} | {family.unit} | {family.help} |")
    return "\n".join(rows) + "\n"
