"""Workers that break one clause each: the model with a few of its methods put in the place of others."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import grpc
import grpc.aio
from model_worker import ModelSession, ModelWorker

import loadmonitor_proto as wire

Overrides = dict[str, Any]
HEALTHY = wire.ReportStatus.REPORT_STATUS_HEALTHY
STALE = wire.ReportStatus.REPORT_STATUS_STALE
UNREACHABLE = wire.ReportStatus.REPORT_STATUS_UNREACHABLE


@dataclass(frozen=True)
class Fault:
    """What is wrong with a Worker, and the clause that it breaks."""

    clause: str
    name: str
    session: Overrides = field(default_factory=dict)
    worker: Overrides = field(default_factory=dict)

    def make(self) -> ModelWorker:
        session_type = type("BrokenSession", (ModelSession,), self.session)
        made: ModelWorker = type("BrokenWorker", (ModelWorker,), self.worker | {"session_type": session_type})()
        return made


def refuse(method: str, code: str) -> Overrides:
    """Answer with an error of another code."""
    return {method: lambda self, *_: self.fail(code)}


def ignore(*methods: str) -> Overrides:
    """Do nothing."""
    return {method: lambda *_: None for method in methods}


def accept(*excused: str) -> Overrides:
    """Take registers that have one of these faults."""

    def is_bad(self: ModelSession, request: wire.RegisterRequest) -> bool:
        fixed = wire.RegisterRequest.FromString(request.SerializeToString())
        if "id" in excused:
            fixed.router_id = "r"
        if "lease" in excused:
            fixed.lease_ttl_ms = 1
        if "interval" in excused:
            fixed.report_interval_ms = 1
        if "window" in excused:
            fixed.ClearField("max_unacked_reports")
        return ModelSession.is_bad(self, fixed)

    return {"is_bad": is_bad}


def also(method: str, more: Callable[..., object], **others: object) -> Overrides:
    """Do what the model does, and then something more."""

    def both(self: ModelSession, *arguments: Any) -> None:
        getattr(ModelSession, method)(self, *arguments)
        more(self, *arguments)

    return {method: both, **others}


def told(**changes: int) -> Overrides:
    """Acknowledge with other values; -1 leaves a field out."""

    def acknowledgement(self: ModelSession, request: wire.RegisterRequest) -> wire.RegisterResponse:
        response = ModelSession.acknowledgement(self, request)
        for name, value in changes.items():
            if value == -1:
                response.ClearField(name)  # type: ignore[arg-type] # the names stand in the table below
            else:
                setattr(response, name, value)
        return response

    return {"acknowledgement": acknowledgement}


def reports(change: Callable[[wire.LoadReport], object], **others: object) -> Overrides:
    """Build reports that are changed afterwards."""

    def build(self: ModelWorker) -> wire.LoadReport:
        report = ModelWorker.build(self)
        change(report)
        return report

    return {"build": build, **others}


def report_now(self: ModelSession, *_: object) -> None:
    if not self.over:
        self.deadline = 0
        self.notify()


def set_status(status: wire.ReportStatus.ValueType, error: str | None = None) -> Callable[[wire.LoadReport], None]:
    def change(report: wire.LoadReport) -> None:
        report.status = status
        if error is not None:
            report.last_error = error

    return change


def acknowledge_first(self: ModelSession, request: wire.RegisterRequest, now: float) -> None:
    ModelSession.open(self, request, now)
    self.control.insert(0, wire.WorkerFrame(report=self.worker.build()))


def open_silently(self: ModelSession, request: wire.RegisterRequest, now: float) -> None:
    ModelSession.open(self, request, now)
    self.control.clear()


def next_bytes(self: ModelSession) -> bytes | None:
    return None if ModelSession.next_frame(self) is None else b"\x0a\xff"


def acknowledge_again(self: ModelSession, *_: object) -> None:
    self.control.append(wire.WorkerFrame(registered=self.worker.first_version_acknowledgement(wire.RegisterRequest())))
    self.notify()


def evict_oldest(self: ModelSession) -> None:
    next(iter(self.worker.sessions.values())).fail("RESOURCE_EXHAUSTED")
    self.fail("RESOURCE_EXHAUSTED")


def replace_before_checking(self: ModelSession, request: wire.RegisterRequest, now: float) -> None:
    older = self.worker.sessions.get(request.router_id)
    if older is not None and older is not self:
        older.fail("SESSION_REPLACED")
    ModelSession.on_register(self, request, now)


def register_once(self: ModelSession, request: wire.RegisterRequest, now: float) -> None:
    if self.router_id is None:
        ModelSession.on_register(self, request, now)


def refuse_newer(self: ModelSession, request: wire.RegisterRequest, now: float) -> None:
    if self.router_id is None and request.router_id in self.worker.sessions and not self.is_bad(request):
        self.fail("SESSION_REPLACED")
    else:
        ModelSession.on_register(self, request, now)


def change_without_lease(self: ModelSession, interval_ms: int | None, _lease_ms: int | None, now: float) -> None:
    ModelSession.change(self, interval_ms, None, now)


def change_unclamped(self: ModelSession, interval_ms: int | None, lease_ms: int | None, now: float) -> None:
    ModelSession.change(self, interval_ms, lease_ms, now)
    if interval_ms is not None:
        self.change_interval(interval_ms / 1_000, now)


def change_anchor(self: ModelSession, interval: float, now: float) -> None:
    if interval != self.interval:
        self.anchor = now
    ModelSession.change_interval(self, interval, now)


def open_late(self: ModelSession, request: wire.RegisterRequest, now: float) -> None:
    ModelSession.open(self, request, now)
    self.skip(now)


def skip_half(self: ModelSession, now: float) -> None:
    ModelSession.skip(self, now)
    self.deadline -= self.interval / 2


def update_without_renewal(self: ModelSession, request: wire.UpdateConfigRequest, now: float) -> None:
    until = self.lease_until
    ModelSession.on_update(self, request, now)
    self.lease_until = until


def renew_by_half(self: ModelSession, now: float) -> None:
    self.lease_until = now + self.lease / 2


def repeat_with_half_the_lease(self: ModelSession, request: wire.RegisterRequest, now: float) -> None:
    ModelSession.on_repeated_register(self, request, now)
    self.lease_until = now + self.lease / 2


def expire_late(self: ModelSession) -> None:
    if self.lease:
        self.lease, self.lease_until = 0.0, self.lease_until + 0.5
    else:
        self.fail("LEASE_EXPIRED")


async def close_with_a_status(self: ModelSession, context: Any) -> None:
    if self.router_id is None:
        await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "no")


async def close_cancelled(_self: ModelSession, context: Any) -> None:
    await context.abort(grpc.StatusCode.CANCELLED, "stopped")


async def never_close(self: ModelSession, _context: Any) -> None:
    await asyncio.wait(self.worker.tasks)  # those end with their calls


def report_after_the_error(self: ModelSession, code: str) -> None:
    self.control.append(wire.WorkerFrame(error=wire.StreamError(code=code)))
    self.control.append(wire.WorkerFrame(report=self.worker.build()))
    self.end()


def count_from_one(self: ModelSession, report: wire.LoadReport) -> None:
    own = wire.LoadReport.FromString(report.SerializeToString())
    own.sequence_id = self.newest_sent + 1
    ModelSession.offer(self, own)


def build_for_each(self: ModelWorker, due: list[ModelSession], now: float) -> None:
    report = self.build()
    for number, session in enumerate(due):
        own = wire.LoadReport.FromString(report.SerializeToString())
        own.ranks[0].num_waiting_reqs = number
        session.fire(own, now)


def queue_all(self: ModelSession, report: wire.LoadReport) -> None:
    self.waiting.append(report)
    self.notify()


def hold_without_credit(self: ModelSession, report: wire.LoadReport, now: float) -> None:
    self.waiting = [report]
    self.skip(now)
    self.notify()


def next_frame_with_credit(self: ModelSession) -> wire.WorkerFrame | None:
    return ModelSession.next_frame(self) if self.control or self.has_credit else None


def acknowledge_and_wake(self: ModelSession, sequence_id: int) -> None:
    self.unacked = [number for number in self.unacked if number > sequence_id]
    self.notify()


def acknowledge_one(self: ModelSession, sequence_id: int) -> None:
    self.unacked = [number for number in self.unacked if number != sequence_id]


def report_at_once(self: ModelSession, sequence_id: int) -> None:
    had_credit = self.has_credit
    ModelSession.acknowledged(self, sequence_id)
    if not had_credit:
        report_now(self)


async def shut_down_silently(self: ModelWorker) -> None:
    for session in list(self.sessions.values()):
        session.end()


async def garbage_aborts(self: ModelSession, context: Any) -> None:
    if self.status is not grpc.StatusCode.OK:
        await context.abort(self.status, "no frame")


def garbage(self: ModelSession) -> None:
    self.status = grpc.StatusCode.INTERNAL
    self.end()


def old(_self: ModelWorker, now_ms: int) -> list[wire.RankLoad]:
    ranks = ModelWorker.ranks(ModelWorker(), now_ms)
    ranks[1].snapshot_time_unix_ms = now_ms - 4_000
    return ranks


def undate(report: wire.LoadReport) -> None:
    for rank in report.ranks:
        rank.ClearField("snapshot_time_unix_ms")


def hide_age_of_every_second(report: wire.LoadReport) -> None:
    if report.sequence_id % 2:
        report.ClearField("max_snapshot_age_ms")


def hide_state_of_every_second(report: wire.LoadReport) -> None:
    if report.sequence_id % 2:
        report.ClearField("worker_state")


def forget(*numbers: int) -> Callable[[wire.LoadReport], None]:
    def change(report: wire.LoadReport) -> None:
        rank = report.ranks[0]
        rank.unknown_field_numbers.extend(numbers)
        for number in numbers:
            setattr(rank, rank.DESCRIPTOR.fields_by_number[number].name, 0)

    return change


SLOW: Overrides = {"least_interval_ms": 100}
"""So that a machine with much else to do doesn't hide that reports come too often."""

FAULTS = [
    Fault("OPEN-1", "another code for a wrong first frame", refuse("on_wrong_first_frame", "INVALID_ARGUMENT")),
    Fault("OPEN-1", "a wrong first frame is passed over", ignore("on_wrong_first_frame")),
    Fault("OPEN-2", "a blank id is accepted", accept("id")),
    Fault("OPEN-2", "a lease of zero is accepted", accept("lease")),
    Fault("OPEN-2", "an interval of zero is accepted", accept("interval")),
    Fault("OPEN-2", "a window of zero is accepted", accept("window")),
    Fault("OPEN-3", "a report comes before the acknowledgement", {"open": acknowledge_first}),
    Fault("OPEN-3", "a repeated register is acknowledged", also("on_repeated_register", acknowledge_again)),
    Fault("OPEN-3", "no acknowledgement", {"open": open_silently}),
    Fault("OPEN-3", "bytes that are no frame", {"next_frame": next_bytes}),
    Fault("OPEN-4", "renewal after half the lease", told(renew_after_ms=4_500)),
    Fault("OPEN-4", "a field is missing", told(stale_after_ms=-1)),
    Fault("OPEN-4", "another instance is told than reports carry", worker=reports(lambda r: setattr(r, "source_instance_id", "x"))),
    Fault("OPEN-5", "the interval isn't raised", worker={"granted_interval_ms": lambda _, asked_ms: asked_ms}),
    Fault("OPEN-5", "the interval is raised in words only", {"skip": skip_half}, SLOW),
    Fault("OPEN-5", "the lease isn't lowered", worker={"granted_lease_ms": lambda _, asked_ms: max(2, asked_ms)}),
    Fault("OPEN-5", "the lease isn't raised", worker={"granted_lease_ms": lambda _, asked_ms: min(120_000, asked_ms)}),
    Fault("OPEN-6", "another code for too many sessions", refuse("on_full", "INVALID_ARGUMENT")),
    Fault("OPEN-6", "somebody is evicted", {"on_full": evict_oldest}),
    Fault("OPEN-6", "another code for too many frames", worker={"exhausted": "SLOW_DOWN", "most_sessions": 64}),
    Fault("OPEN-7", "a refused register replaces", {"on_register": replace_before_checking}),
    Fault("OPEN-7", "the newer stream is refused", {"on_register": refuse_newer}),
    Fault("OPEN-7", "the older stream isn't told", ignore("replace")),
    Fault("CHANGE-1", "an update is acknowledged", also("on_update", acknowledge_again)),
    Fault("CHANGE-1", "an update brings a report", also("on_update", report_now)),
    Fault("CHANGE-1", "an update changes nothing", ignore("on_update")),
    Fault("CHANGE-1", "a repeated register changes nothing", ignore("on_repeated_register")),
    Fault("CHANGE-1", "the lease can't be changed", {"change": change_without_lease}),
    Fault("CHANGE-1", "a change isn't clamped", {"change": change_unclamped}, SLOW),
    Fault("CHANGE-2", "bad values are passed over", {"on_update": lambda *_: None}),
    Fault("CHANGE-2", "another id is accepted", {"on_register": register_once}),
    Fault("CHANGE-3", "a changed interval starts anew", {"change_interval": change_anchor}),
    Fault("CHANGE-3", "the first report waits for the interval", {"open": open_late}),
    Fault("CHANGE-3", "reports come twice as often", {"skip": skip_half}),
    Fault("LEASE-1", "an update doesn't renew", {"on_update": update_without_renewal}),
    Fault("LEASE-1", "a keep_alive doesn't renew", ignore("on_keep_alive")),
    Fault("LEASE-1", "half the lease is granted", {"renew": renew_by_half}),
    Fault("LEASE-1", "a repeated register renews by half", {"on_repeated_register": repeat_with_half_the_lease}),
    Fault("LEASE-2", "leases never end", ignore("expire")),
    Fault("LEASE-2", "another code for the end of the lease", refuse("expire", "SHUTTING_DOWN")),
    Fault("LEASE-2", "reports go on after the lease", {"expire": expire_late}),
    Fault("LEASE-3", "a keep_alive brings a report", also("on_keep_alive", report_now)),
    Fault("LEASE-4", "stop is answered with an error", refuse("on_stop", "SHUTTING_DOWN")),
    Fault("LEASE-4", "stop is passed over", ignore("on_stop")),
    Fault("LEASE-4", "stop ends with another status", {"close": close_cancelled}),
    Fault("REPORT-1", "each session gets numbers of its own", worker={"deliver": build_for_each}),
    Fault("REPORT-2", "each stream counts from one", {"offer": count_from_one}),
    Fault("REPORT-2", "all reports have one number", worker=reports(lambda r: setattr(r, "sequence_id", 7))),
    Fault("REPORT-2", "no instance", worker=reports(lambda r: r.ClearField("source_instance_id"))),
    Fault("REPORT-3", "ranks in disorder", worker=reports(lambda r: r.ranks.reverse())),
    Fault("REPORT-3", "a rank twice", worker=reports(lambda r: r.ranks.append(r.ranks[1]))),
    Fault("REPORT-3", "HEALTHY without ranks", worker=reports(lambda r: r.ClearField("ranks"))),
    Fault("REPORT-3", "UNREACHABLE with ranks", worker=reports(set_status(UNREACHABLE, "gone"))),
    Fault("REPORT-3", "STALE without an error", worker=reports(set_status(STALE))),
    Fault("REPORT-3", "no status", worker=reports(lambda r: r.ClearField("status"))),
    Fault("REPORT-4", "HEALTHY though a rank is too old", worker={"ranks": old}),
    Fault("REPORT-4", "HEALTHY though a rank isn't dated", worker=reports(lambda r: r.ranks[0].ClearField("snapshot_time_unix_ms"))),
    Fault("REPORT-4", "HEALTHY though a rank has no capacity", worker=reports(lambda r: r.ranks[0].ClearField("max_running_requests"))),
    Fault("REPORT-4", "STALE without a reason", worker=reports(set_status(STALE, "rank 0 stale"))),
    Fault("REPORT-4", "STALE without naming the rank", worker=reports(set_status(STALE, "too old"), ranks=old)),
    Fault("REPORT-5", "the age of the newest rank", worker={"ranks": old}),
    Fault("REPORT-5", "an age without a dated rank", worker=reports(undate)),
    Fault("REPORT-5", "no age in every second report", worker=reports(hide_age_of_every_second)),
    Fault("REPORT-6", "reports queue up", {"offer": queue_all}),
    Fault("REPORT-7", "a field named as unknown is sent", worker=reports(lambda r: r.ranks[0].unknown_field_numbers.append(5))),
    Fault("REPORT-7", "requests are named as unknown", worker=reports(forget(3))),
    Fault("REPORT-7", "names in disorder", worker=reports(forget(12, 5))),
    Fault("REPORT-7", "a name twice", worker=reports(forget(5, 5))),
    Fault("STATE-1", "the state is told in every second report", worker=reports(hide_state_of_every_second)),
    Fault("ACK-1", "the window is passed over", {"has_credit": True}),
    Fault("ACK-1", "an acknowledgement counts for one report", {"acknowledged": acknowledge_one}),
    Fault("ACK-2", "a report waits for credit", {"fire": hold_without_credit, "next_frame": next_frame_with_credit, "acknowledged": acknowledge_and_wake}),
    Fault("ACK-2", "credit brings a report at once", {"acknowledged": report_at_once}),
    Fault("ACK-3", "an unsent report can be acknowledged", ignore("on_unsent_acknowledged")),
    Fault("END-1", "a status instead of OK", {"close": close_with_a_status}),
    Fault("END-1", "the stream stays open", {"close": never_close}),
    Fault("END-1", "a report after the error", {"fail": report_after_the_error}),
    Fault("END-2", "a Worker that leaves without a word", worker={"shut_down": shut_down_silently}),
    Fault("END-4", "a status for bytes that don't parse", {"on_garbage": garbage, "close": garbage_aborts}),
    Fault("END-4", "an empty frame is passed over", ignore("on_empty")),
    Fault("END-4", "frames of any size are read", worker={"longest_frame": 1_000_000}),
]  # fmt: skip
