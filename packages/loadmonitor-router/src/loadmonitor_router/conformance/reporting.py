"""The clauses REPORT: what a report says, and which reports a slow Router is sent."""

import asyncio
import re

from loadmonitor_proto import UNKNOWABLE_FIELDS, LoadReport, RankLoad, ReportStatus
from loadmonitor_router.conformance.frames import keep_alive, register
from loadmonitor_router.conformance.results import Deviation, NotOffered, NotTestable, check
from loadmonitor_router.conformance.trial import Trial

_TOGETHER = 6
_FEWEST = 2
_STALLED_REPORTS = 150
_LONGEST_STALL_MS = 10_000
_FUTURE_MS = 1_000
_ROUNDING_MS = 5


@check("REPORT-1", expects="the same report for every session that is due")
async def shared(trial: Trial) -> str:
    """Registers six streams at the same moment, takes ten reports on each and compares those with the same number. How often the engine is read doesn't show from here."""
    streams = [trial.open() for _ in range(_TOGETHER)]
    frames = [register(trial.router_id(), interval_ms=trial.short_ms) for _ in streams]
    await asyncio.gather(*(stream.send(frame) for stream, frame in zip(streams, frames, strict=True)))
    seen: dict[tuple[str, int], LoadReport] = {}
    common = 0
    served = [
        stream for stream in streams if (frame := await stream.receive()) is not None and frame.HasField("registered")
    ]
    if len(served) < _FEWEST:
        raise NotTestable(f"{len(served)} of {_TOGETHER} registers were acknowledged")
    for stream in served:
        for _ in range(10):
            report = await stream.report()
            same = seen.setdefault((report.source_instance_id, report.sequence_id), report)
            if same is not report:
                common += 1
            if same != report:
                raise Deviation(f"two different reports {report.sequence_id} of {report.source_instance_id}")
    if not common:
        raise NotTestable(f"no two of {len(served)} sessions were due together, so none shared a report")
    return f"{common} reports that another session got too, all equal"


@check("REPORT-2", expects="a sequence_id from 1 that strictly increases within one source_instance_id")
async def numbering(trial: Trial) -> str:
    """Takes reports on one stream and on a later one. That a restarted Worker has a new instance doesn't show from here."""
    newest: dict[str, int] = {}
    count = 0
    for _ in range(2):
        for report in await trial.sample():
            count += 1
            if not report.source_instance_id.strip():
                raise Deviation(f"report {report.sequence_id} without a source_instance_id")
            before = newest.get(report.source_instance_id, 0)
            if report.sequence_id <= before:
                raise Deviation(f"report {report.sequence_id} after report {before} of {report.source_instance_id}")
            newest[report.source_instance_id] = report.sequence_id
    last = ", ".join(f"up to {number} of {instance}" for instance, number in newest.items())
    return f"{count} reports in order, {last}"


@check(
    "REPORT-3", expects="every rank in order when HEALTHY or STALE, none when UNREACHABLE, last_error unless HEALTHY"
)
async def status(trial: Trial) -> str:
    """Takes five reports and checks each by its status; only those statuses are judged that the engine's state brings about."""
    seen: dict[str, int] = {}
    for report in await trial.sample():
        name = _status_name(report)
        ranks = [rank.dp_rank for rank in report.ranks]
        seen[name] = seen.get(name, 0) + 1
        if name not in ("HEALTHY", "STALE", "UNREACHABLE"):
            raise Deviation(f"status {name} in report {report.sequence_id}")
        if name != "HEALTHY" and not report.last_error:
            raise Deviation(f"{name} report {report.sequence_id} without last_error")
        if name == "UNREACHABLE" and ranks:
            raise Deviation(f"UNREACHABLE report {report.sequence_id} with ranks {ranks}")
        if name != "UNREACHABLE" and not ranks:
            raise Deviation(f"{name} report {report.sequence_id} without ranks")
        if ranks != sorted(set(ranks)):
            raise Deviation(f"{name} report {report.sequence_id} with ranks {ranks}")
    return ", ".join(f"{count} {name}" for name, count in seen.items()) + ", none other"


@check(
    "REPORT-4",
    expects="STALE exactly when a rank is too old, undated or without capacity, and named",
    is_extension=True,
)
async def staleness(trial: Trial) -> str:
    """Takes five reports and works out from their ranks and from `stale_after_ms` whether each had to be STALE, and why; where the engine gives no reason for it, only that no report was STALE is seen."""
    session = await trial.registered(interval_ms=trial.short_ms)
    if not session.response.HasField("stale_after_ms"):
        raise NotOffered("stale_after_ms isn't told, so nobody else can tell what is too old")
    limit_ms = session.response.stale_after_ms
    stale = 0
    for _ in range(5):
        report = await session.stream.report()
        name = _status_name(report)
        bad = [rank.dp_rank for rank in report.ranks if _is_bad(rank, report.report_time_unix_ms, limit_ms)]
        suspect = bad or [rank.dp_rank for rank in report.ranks if _is_future(rank, report.report_time_unix_ms)]
        if bad and name != "STALE":
            raise Deviation(f"{name} report {report.sequence_id}, though rank {bad[0]} makes it STALE")
        if name == "STALE" and not suspect:
            raise Deviation(f"STALE report {report.sequence_id} ({report.last_error}) without a rank that makes it so")
        if bad and not re.search(rf"\b{bad[0]}\b", report.last_error):
            raise Deviation(f"last_error {report.last_error!r}, which doesn't name rank {bad[0]}")
        stale += name == "STALE"
    if not stale:
        raise NotTestable(f"no rank was older than {limit_ms} ms, undated or without capacity, and no report STALE")
    return f"{stale} STALE reports, the last: {report.last_error}"


@check(
    "REPORT-5", expects="max_snapshot_age_ms: the age of the oldest dated rank, absent when none is", is_extension=True
)
async def age(trial: Trial) -> str:
    """Takes five reports and compares `max_snapshot_age_ms` with the time of the report and of its oldest rank."""
    told, dated = 0, 0
    for report in await trial.sample():
        stamps = [
            rank.snapshot_time_unix_ms
            for rank in report.ranks
            if rank.snapshot_time_unix_ms > 0 and not _is_future(rank, report.report_time_unix_ms)
        ]
        has_age = report.HasField("max_snapshot_age_ms")
        told += has_age
        dated += bool(stamps)
        if not stamps and has_age:
            raise Deviation(f"max_snapshot_age_ms={report.max_snapshot_age_ms} in a report without a dated rank")
        if stamps and has_age:
            age_ms = max(0, report.report_time_unix_ms - min(stamps))
            if abs(report.max_snapshot_age_ms - age_ms) > _ROUNDING_MS:
                raise Deviation(
                    f"max_snapshot_age_ms={report.max_snapshot_age_ms}, its oldest rank being {age_ms} ms old"
                )
    if dated and not told:
        raise NotOffered(f"no max_snapshot_age_ms in {dated} reports with dated ranks")
    if told < dated:
        raise Deviation(f"max_snapshot_age_ms in {told} of {dated} reports with dated ranks")
    if not dated:
        return "absent, as no rank was dated"
    return f"right in {told} reports"


@check("REPORT-6", expects="the newest report only, for a Router that falls behind")
async def latest_wins(trial: Trial) -> str:
    """Reads nothing while another session takes 150 reports, with a receive window of about a kilobyte, then counts which of the reports built meanwhile still come."""
    interval_ms = max(10, trial.known.min_interval_ms)
    if _STALLED_REPORTS * interval_ms > _LONGEST_STALL_MS:
        raise NotTestable(f"at an interval of {interval_ms} ms it takes too long to fall behind")
    session = await trial.registered(interval_ms=interval_ms)
    await session.stream.report()
    session.stream.stall()
    witness = await trial.registered(interval_ms=interval_ms)
    for count in range(_STALLED_REPORTS):
        last = await witness.stream.report()
        if count % 50 == 0:
            await session.stream.send(keep_alive())
    session.stream.go_on()
    waited = 0
    while (report := await session.stream.report()).report_time_unix_ms <= last.report_time_unix_ms:
        waited += 1
    if waited > _STALLED_REPORTS // 2:
        raise Deviation(f"{waited} reports that had waited, of some {_STALLED_REPORTS} that were built during a stall")
    return f"{waited} reports that had waited, of some {_STALLED_REPORTS} that were built during a stall, then report {report.sequence_id}"


@check(
    "REPORT-7",
    expects="unknown_field_numbers: those of the six fields that are unknown, ascending, and not sent",
    is_extension=True,
)
async def unknown(trial: Trial) -> str:
    """Takes five reports and checks what their ranks name. A Worker that names nothing knows everything, or doesn't offer it; whether a 0 that isn't named was measured doesn't show from here."""
    named: set[str] = set()
    seen = 0
    for report in await trial.sample():
        for rank in report.ranks:
            seen += 1
            where = f"rank {rank.dp_rank} of report {report.sequence_id}"
            numbers = list(rank.unknown_field_numbers)
            if numbers != sorted(set(numbers)):
                raise Deviation(f"{numbers} named by {where}, not ascending or not each once")
            for number in numbers:
                field = RankLoad.DESCRIPTOR.fields_by_number.get(number)
                if field is not None and number not in UNKNOWABLE_FIELDS:
                    raise Deviation(f"{field.name} ({number}) named by {where}, which may not be unknown")
                if field is not None and (value := getattr(rank, field.name)):
                    raise Deviation(f"{field.name}={value} in {where}, which names it as unknown")
                named.add(UNKNOWABLE_FIELDS.get(number, str(number)))
    if not seen:
        raise NotTestable("no rank in five reports")
    if not named:
        raise NotOffered("no field named as unknown in five reports")
    return f"named as unknown and not sent: {', '.join(sorted(named))}"


@check("REPORT-8", expects="a Router that never takes a field named as unknown for 0", is_extension=True)
async def believed(trial: Trial) -> str:  # noqa: ARG001 - a check like the others
    """Isn't tested: it is about Routers."""
    raise NotTestable("this clause is about Routers")


def _status_name(report: LoadReport) -> str:
    values = {value: name.removeprefix("REPORT_STATUS_") for name, value in ReportStatus.items()}
    return values.get(report.status, str(report.status))


def _is_bad(rank: RankLoad, report_time_unix_ms: int, limit_ms: int) -> bool:
    """Tell whether a rank makes its report STALE whatever a Worker thinks of the future."""
    stamp = rank.snapshot_time_unix_ms
    is_old = report_time_unix_ms - stamp > limit_ms
    return stamp <= 0 or is_old or not (rank.max_total_num_tokens and rank.max_running_requests)


def _is_future(rank: RankLoad, report_time_unix_ms: int) -> bool:
    """Tell whether a rank is dated so far ahead that a Worker may find it undated."""
    return rank.snapshot_time_unix_ms > report_time_unix_ms + _FUTURE_MS
