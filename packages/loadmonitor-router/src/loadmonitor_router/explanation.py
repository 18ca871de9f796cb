"""Why a Worker is included in a Router's decisions or left out, hop by hop from the connection to the ranks."""

from collections.abc import Iterable
from dataclasses import dataclass

from loadmonitor_router.age import Freshness, own_age_ms
from loadmonitor_router.connection import Connection, ConnectionState
from loadmonitor_router.reports import NEVER_PICKED, RankLoad, ReportStatus, WorkerReport
from loadmonitor_router.snapshot import WorkerLoad

_NS_PER_SECOND = 1_000_000_000
_SELDOM_UNKNOWN = (
    "num_waiting_uncached_tokens",
    "num_used_tokens",
    "num_total_tokens",
    "token_usage",
    "gen_throughput",
    "cache_hit_rate",
)
"""What a Worker may name as unknown; written out, because who explains or picks needn't import protobuf."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hop:
    """One thing that must be so.

    Attributes:
        name: What.
        ok: Whether it is so; None when an earlier hop leaves it open.
        text: What is known about it.
    """

    name: str
    ok: bool | None
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The verdict on one Worker, with its reasons.

    Attributes:
        url: Who.
        included: Whether its load counts.
        hops: Connection, reports, engine, ranks, age, state: each built on the ones before.
    """

    url: str
    included: bool
    hops: tuple[Hop, ...]

    @property
    def reason(self) -> str | None:
        """The first hop that fails, in words; None when the Worker is included."""
        return next((f"{hop.name}: {hop.text}" for hop in self.hops if hop.ok is False), None)


def explain(load: WorkerLoad, now_ns: int) -> Explanation:
    """Explain one Worker.

    Args:
        load: The Worker as a snapshot has it.
        now_ns: When the snapshot was taken, on the same monotonic clock.
    """
    hops = [_connection(load.connection, now_ns), _reports(load)]
    if load.report is None:
        hops += [Hop(name=name, ok=None, text="no report tells") for name in ("engine", "ranks", "age", "state")]
    else:
        hops += [_engine(load.report), _ranks(load.report), _age(load, load.report), _state(load.report)]
    included = load.freshness is Freshness.FRESH and load.takes_requests
    return Explanation(url=load.target.url, included=included, hops=tuple(hops))


def _connection(connection: Connection, now_ns: int) -> Hop:
    registered = connection.state is ConnectionState.REGISTERED
    parts = [f"{connection.state} for {(now_ns - connection.since_ns) / _NS_PER_SECOND:.1f} s"]
    if connection.grant is not None:
        grant = connection.grant
        interval = "-" if grant.report_interval_ms is None else f"{grant.report_interval_ms} ms"
        parts.append(
            f"lease {grant.lease_ttl_ms} ms, report every {interval}, reporter {grant.source_instance_id or '-'}"
        )
    if connection.last_error is not None:
        parts.append(f"{'before that: ' if registered else ''}{connection.last_error}")
    if connection.reconnects:
        parts.append(f"dialled again {connection.reconnects} times")
    if connection.retry_at_ns is not None:
        parts.append(f"next attempt in {max(0, connection.retry_at_ns - now_ns) / _NS_PER_SECOND:.1f} s")
    return Hop(name="connection", ok=registered, text="; ".join(parts))


def _reports(load: WorkerLoad) -> Hop:
    connection = load.connection
    dropped = ", ".join(f"{number} {reason}" for reason, number in connection.dropped.items() if number)
    text = f"{connection.received} received, dropped: {dropped or 'none'}"
    if connection.last_drop is not None:
        text += f"; last drop: {connection.last_drop}"
    if load.report is None and connection.state is not ConnectionState.REGISTERED:
        return Hop(name="reports", ok=None, text=text)
    return Hop(name="reports", ok=load.report is not None, text=text)


def _engine(report: WorkerReport) -> Hop:
    word = report.status.removeprefix("REPORT_STATUS_")
    text = f"{word} in report {report.sequence_id} of {report.source_instance_id}"
    if report.last_error is not None:
        text += f": {report.last_error}"
    return Hop(name="engine", ok=report.status is ReportStatus.HEALTHY, text=text)


def _ranks(report: WorkerReport) -> Hop:
    ranks = report.ranks
    if not ranks:
        return Hop(name="ranks", ok=None, text="none reported")
    bare = [str(rank.dp_rank) for rank in ranks if not _has_capacity(rank)]
    if bare:
        return Hop(
            name="ranks", ok=False, text=f"no capacity published by rank {', '.join(bare)}; {len(ranks)} reported"
        )
    waiting = [rank.num_waiting_reqs for rank in ranks]
    text = f"{len(ranks)} complete; waiting {min(waiting)} to {max(waiting)}, token usage {_range(ranks)}"
    unknown = [name for name in _SELDOM_UNKNOWN if any(getattr(rank, name) is None for rank in ranks)]
    if unknown:
        text += f"; the engine doesn't tell {', '.join(unknown)}"
    return Hop(name="ranks", ok=True, text=text)


def _range(ranks: Iterable[RankLoad]) -> str:
    usage = [rank.token_usage for rank in ranks if rank.token_usage is not None]
    return f"{min(usage):.2f} to {max(usage):.2f}" if usage else "-"


def _age(load: WorkerLoad, report: WorkerReport) -> Hop:
    terms = f"own {_ms(own_age_ms(report))} + delivery {_ms(report.receipt.delay_ms)} + since receipt {_ms(load.receipt_age_ms)}"
    if not report.ranks:
        return Hop(name="age", ok=None, text="no numbers that could be old")
    # A verdict of STALE that neither the Worker nor a missing capacity explains is about the age.
    settled = report.status is not ReportStatus.HEALTHY or not all(map(_has_capacity, report.ranks))
    if load.freshness is Freshness.STALE and not settled:
        return Hop(name="age", ok=False, text=f"{load.reason}; {terms}")
    return Hop(name="age", ok=None if settled else True, text=f"at most {_ms(load.age_ms)}: {terms}")


def _state(report: WorkerReport) -> Hop:
    if report.worker_state is None:
        return Hop(name="state", ok=True, text="the engine doesn't tell")
    word = report.worker_state.removeprefix("WORKER_STATE_")
    if report.worker_state in NEVER_PICKED:
        return Hop(name="state", ok=False, text=f"{word}: gets no new request")
    return Hop(name="state", ok=True, text=word)


def _has_capacity(rank: RankLoad) -> bool:
    return rank.max_total_num_tokens is not None and rank.max_running_requests is not None


def _ms(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.0f} ms"
