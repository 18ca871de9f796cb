"""The one table of metric families: the exporter, the dashboard, the alert rules and the documents all read it.

Names carry their unit. A family without a value for a worker or rank has no series for it: absent is never 0.
"""

from dataclasses import dataclass
from enum import StrEnum

from loadmonitor_router.stats import DELIVERY_AGE_BOUNDS


class Kind(StrEnum):
    """The type of a family; the values are Prometheus' words."""

    GAUGE = "gauge"
    COUNTER = "counter"
    HISTOGRAM = "histogram"


class Unit(StrEnum):
    """What a family's numbers count."""

    REQUESTS = "requests"
    TOKENS = "tokens"
    TOKENS_PER_SECOND = "tokens per second"
    RATIO = "ratio, 0 to 1"
    SECONDS = "seconds"
    WORKERS = "workers"
    REPORTS = "reports"
    EVENTS = "events"
    FLAG = "0 or 1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """One metric family.

    Attributes:
        name: Its name in the exposition; a counter's with `_total`.
        help: What it is, in one sentence.
        kind: Its type.
        unit: Of its numbers.
        labels: Its labels, in the order of their values.
        upper_bounds: Of a histogram's buckets, without infinity; else empty.
    """

    name: str
    help: str
    kind: Kind
    unit: Unit
    labels: tuple[str, ...] = ()
    upper_bounds: tuple[float, ...] = ()


_RANK = ("worker", "model_name", "dp_rank", "worker_type")


def _rank_gauge(name: str, unit: Unit, text: str) -> Family:
    return Family(name=f"loadmonitor_engine_{name}", help=text, kind=Kind.GAUGE, unit=unit, labels=_RANK)


RUNNING_REQUESTS = _rank_gauge("running_requests", Unit.REQUESTS, "Requests in the running batch.")
WAITING_REQUESTS = _rank_gauge("waiting_requests", Unit.REQUESTS, "Requests in the waiting queue.")
WAITING_UNCACHED_TOKENS = _rank_gauge(
    "waiting_uncached_tokens", Unit.TOKENS, "Prompt tokens waiting whose KV isn't cached."
)
TOKEN_USAGE = _rank_gauge("token_usage", Unit.RATIO, "Use of the fullest of the engine's KV pools.")
GEN_THROUGHPUT = _rank_gauge("gen_throughput", Unit.TOKENS_PER_SECOND, "Generated tokens per second.")
PREFILL_THROUGHPUT = _rank_gauge(
    "prefill_throughput", Unit.TOKENS_PER_SECOND, "Uncached prompt tokens computed per second."
)
CACHE_HIT_RATE = _rank_gauge("cache_hit_rate", Unit.RATIO, "Prefix cache hits, as the engine counts them.")
QUEUE_PRESSURE = _rank_gauge(
    "queue_pressure_seconds", Unit.SECONDS, "Time that the rank needs to prefill the uncached tokens that wait."
)

WORKERS = Family(
    name="loadmonitor_router_workers",
    help="Workers by what may be concluded from their newest report.",
    kind=Kind.GAUGE,
    unit=Unit.WORKERS,
    labels=("state",),
)
REPORT_AGE = Family(
    name="loadmonitor_router_report_age_seconds",
    help="Upper bound of the age of the oldest number in a worker's newest report.",
    kind=Kind.GAUGE,
    unit=Unit.SECONDS,
    labels=("worker",),
)
DELIVERY_AGE = Family(
    name="loadmonitor_router_delivery_age_seconds",
    help="Age of a report's oldest number when the report was received.",
    kind=Kind.HISTOGRAM,
    unit=Unit.SECONDS,
    upper_bounds=DELIVERY_AGE_BOUNDS,
)
REPORTS = Family(
    name="loadmonitor_router_reports_total",
    help="Reports received, dropped ones included.",
    kind=Kind.COUNTER,
    unit=Unit.REPORTS,
)
DROPPED_REPORTS = Family(
    name="loadmonitor_router_dropped_reports_total",
    help="Reports dropped because they break the contract or come out of order.",
    kind=Kind.COUNTER,
    unit=Unit.REPORTS,
    labels=("reason",),
)
RECONNECTS = Family(
    name="loadmonitor_router_reconnects_total",
    help="Attempts to dial a worker again, by why the last one ended.",
    kind=Kind.COUNTER,
    unit=Unit.EVENTS,
    labels=("reason",),
)
SESSIONS = Family(
    name="loadmonitor_router_sessions",
    help="Workers by the state of their connection.",
    kind=Kind.GAUGE,
    unit=Unit.WORKERS,
    labels=("state",),
)
FAIL_OPEN = Family(
    name="loadmonitor_router_fail_open",
    help="1 while picks ignore load because no worker is fresh.",
    kind=Kind.GAUGE,
    unit=Unit.FLAG,
)
PICKS = Family(
    name="loadmonitor_router_picks_total",
    help="Workers picked, by policy.",
    kind=Kind.COUNTER,
    unit=Unit.EVENTS,
    labels=("policy",),
)
BUILD_INFO = Family(
    name="loadmonitor_router_build_info",
    help="Always 1; the label tells the version of loadmonitor-router.",
    kind=Kind.GAUGE,
    unit=Unit.FLAG,
    labels=("version",),
)

FAMILIES: tuple[Family, ...] = (
    RUNNING_REQUESTS,
    WAITING_REQUESTS,
    WAITING_UNCACHED_TOKENS,
    TOKEN_USAGE,
    GEN_THROUGHPUT,
    PREFILL_THROUGHPUT,
    CACHE_HIT_RATE,
    QUEUE_PRESSURE,
    WORKERS,
    REPORT_AGE,
    DELIVERY_AGE,
    REPORTS,
    DROPPED_REPORTS,
    RECONNECTS,
    SESSIONS,
    FAIL_OPEN,
    PICKS,
    BUILD_INFO,
)
"""Every family under this package's own names, in the order of the exposition."""


class EngineMetrics(StrEnum):
    """Whose engine's names the load is exported under as well, for gateways that know no others."""

    OFF = "off"
    VLLM = "vllm"
    SGLANG = "sglang"


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineFamilies:
    """The three families that an inference gateway reads, each with one series.

    Attributes:
        running: Sum over all ranks.
        waiting: Sum over all ranks.
        usage: That of the fullest rank.
    """

    running: Family
    waiting: Family
    usage: Family


def _engine_gauge(name: str, unit: Unit, text: str) -> Family:
    return Family(name=name, help=text, kind=Kind.GAUGE, unit=unit, labels=("model_name",))


def _engine_families(running: str, waiting: str, usage: str) -> EngineFamilies:
    return EngineFamilies(
        running=_engine_gauge(running, Unit.REQUESTS, "Requests running, summed over the ranks."),
        waiting=_engine_gauge(waiting, Unit.REQUESTS, "Requests waiting, summed over the ranks."),
        usage=_engine_gauge(usage, Unit.RATIO, "KV use of the fullest rank."),
    )


ENGINE_FAMILIES: dict[EngineMetrics, EngineFamilies] = {
    EngineMetrics.VLLM: _engine_families(
        "vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:kv_cache_usage_perc"
    ),
    EngineMetrics.SGLANG: _engine_families("sglang:num_running_reqs", "sglang:num_queue_reqs", "sglang:token_usage"),
}
"""Exported only where asked for: an engine that shows these names itself would be counted twice."""


def markdown_table() -> str:
    """Return the families as a Markdown table, a row each, for the documents."""
    rows = ["| family | type | labels | unit | meaning |", "|---|---|---|---|---|"]
    rows += [
        f"| `{family.name}` | {family.kind} | {', '.join(f'`{label}`' for label in family.labels) or 'none'} "
        f"| {family.unit} | {family.help} |"
        for family in FAMILIES
    ]
    return "\n".join(rows) + "\n"
