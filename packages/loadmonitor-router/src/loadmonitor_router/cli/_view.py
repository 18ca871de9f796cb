"""What is shown of one Worker at one moment: rows of numbers, each known or None, and why."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from loadmonitor_router.age import DEFAULT_FRESHNESS_MS, Assessment, Freshness, assess, rank_age_ms
from loadmonitor_router.cli import _text
from loadmonitor_router.cli._flags import in_flags
from loadmonitor_router.connection import Connection, ConnectionState
from loadmonitor_router.interfaces import Clock
from loadmonitor_router.reports import NEVER_PICKED, RankLoad, WorkerReport

_Number = TypeVar("_Number", int, float)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerView:
    """One Worker as it stands.

    Attributes:
        worker: Its address.
        connection: The client's connection.
        report: The newest report; None while there is none on a working connection.
        assessment: The verdict on it.
        now_ns: When this was so, monotonic.
        unix_ms: When this was so, by the wall clock.
    """

    worker: str
    connection: Connection
    report: WorkerReport | None
    assessment: Assessment
    now_ns: int
    unix_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the table; a number that isn't known is None.

    Attributes:
        worker: The Worker's address.
        rank: "all" for the Worker as a whole, else the `dp_rank`.
        status: A `Freshness`.
        age_ms: Age of the numbers.
        running: Requests in the batch; of a Worker: the sum.
        waiting: Requests in the queue; of a Worker: the sum.
        uncached: Waiting prompt tokens whose KV isn't cached; of a Worker: the sum.
        usage: Token usage, 0 to 1; of a Worker: that of its fullest rank.
        generated: Generated tokens per second; of a Worker: the sum.
        reason: What there is to say, or None.
    """

    worker: str
    rank: str
    status: Freshness
    age_ms: float | None = None
    running: int | None = None
    waiting: int | None = None
    uncached: int | None = None
    usage: float | None = None
    generated: float | None = None
    reason: str | None = None


def view(worker: str, connection: Connection, report: WorkerReport | None, clock: Clock) -> WorkerView:
    """Judge a Worker now: by its report while the connection stands, else by why it doesn't."""
    now_ns = clock.monotonic_ns()
    if connection.state is not ConnectionState.REGISTERED:
        report = None
        reason = connection.last_error or connection.state.value
        assessment = Assessment(freshness=Freshness.MISSING, age_ms=None, reason=reason)
    else:
        assessment = assess(report, now_ns, _freshness_ms(connection))
    return WorkerView(
        worker=worker,
        connection=connection,
        report=report,
        assessment=assessment,
        now_ns=now_ns,
        unix_ms=clock.unix_ms(),
    )


def rows(shown: WorkerView) -> list[Row]:
    """Return the Worker's own row, and one for each rank it reports."""
    status, report = shown.assessment.freshness, shown.report
    if report is None or not report.ranks:
        return [Row(worker=shown.worker, rank="all", status=status, reason=_reason(shown))]
    ranks = [_rank_row(shown.worker, status, report, rank, shown.now_ns) for rank in report.ranks]
    whole = Row(
        worker=shown.worker,
        rank="all",
        status=status,
        age_ms=shown.assessment.age_ms,
        running=_over(sum, (row.running for row in ranks)),
        waiting=_over(sum, (row.waiting for row in ranks)),
        uncached=_over(sum, (row.uncached for row in ranks)),
        usage=_over(max, (row.usage for row in ranks)),
        generated=_over(sum, (row.generated for row in ranks)),
        reason=_reason(shown) or _spread(ranks),
    )
    return [whole, *ranks]


def _reason(shown: WorkerView) -> str | None:
    reason = shown.assessment.reason
    known = [] if reason is None else [_text.safe(in_flags(reason))]
    state = None if shown.report is None else shown.report.worker_state
    if state in NEVER_PICKED:
        known.insert(0, f"{state.name}: gets no new request")
    return "; ".join(known) or None


def _freshness_ms(connection: Connection) -> int:
    """Return the window that a Worker can keep: of reports that come more rarely, the newest must be able to be fresh."""
    interval_ms = None if connection.grant is None else connection.grant.report_interval_ms
    return max(DEFAULT_FRESHNESS_MS, 2 * (interval_ms or 0))


def _rank_row(worker: str, status: Freshness, report: WorkerReport, rank: RankLoad, now_ns: int) -> Row:
    if rank.snapshot_time_unix_ms is None and rank.max_total_num_tokens is None:
        # What a rank that has published nothing yet looks like: its zeros aren't measurements.
        return Row(worker=worker, rank=str(rank.dp_rank), status=status, reason="nothing published yet")
    return Row(
        worker=worker,
        rank=str(rank.dp_rank),
        status=status,
        age_ms=rank_age_ms(report, rank, now_ns),
        running=rank.num_running_reqs,
        waiting=rank.num_waiting_reqs,
        uncached=rank.num_waiting_uncached_tokens,
        usage=rank.token_usage,
        generated=rank.gen_throughput,
    )


def _over(join: Callable[[Iterable[_Number]], _Number], values: Iterable[_Number | None]) -> _Number | None:
    """Join the values of all ranks; what one of them doesn't tell isn't known of the Worker."""
    complete = list(values)
    known = [value for value in complete if value is not None]
    return join(known) if len(known) == len(complete) else None


def _spread(ranks: list[Row]) -> str | None:
    waiting = [row.waiting for row in ranks if row.waiting is not None]
    spread = max(waiting, default=0) - min(waiting, default=0)
    return f"spread {spread} waiting" if spread else None
