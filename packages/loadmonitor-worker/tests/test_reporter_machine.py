"""The reporter without gRPC, driven at random and compared step by step with a model of docs/contract.md."""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, cast

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test
from reporter_model import (
    BUDGET_MS,
    FRAMES_PER_SECOND,
    MAX_LEASE_MS,
    MAX_SESSIONS,
    MIN_INTERVAL_MS,
    MS,
    RANKS_OFF_BY,
    Model,
    Script,
)
from reporter_model import Frame as Expected
from reporter_model import Stream as ModelStream

from loadmonitor_proto import (
    KeepAlive,
    LoadReport,
    RegisterRequest,
    ReportStatus,
    RouterFrame,
    StopRequest,
    UpdateConfigRequest,
    WorkerFrame,
)
from loadmonitor_worker import LoadReporter, RankSnapshot, ReporterConfig
from loadmonitor_worker._server import ReporterServer
from loadmonitor_worker._session import LEASE_GRACE_NS, Session
from loadmonitor_worker.testing import ManualClock, rank, settle

STALE_AFTER_MS = 3_000
MOST_TIMERS = 40  # that one move of the clock runs through
SPINS_SECONDS = 10  # nothing waits for real time, so a reporter that takes longer runs in circles

# Hypothesis draws each with the same chance: what is common stands more than once.
IDS = st.sampled_from(["a", "b", "c", "d", "e", "a", "b", ""])
INTERVALS_MS = st.sampled_from([100, 10, 25, 50, 100, 200, 300, 1_000, 1, 0, -5])
LEASES_MS = st.sampled_from([1_000, 5_000, 300, 120, 40, 9_000, 1, 1_000, 0, -1])
WINDOWS = st.sampled_from([None, 1, 2, 3, None, 1, 2, 0])
OUTCOMES = st.sampled_from(
    ["fresh", "fresh", "old", "undated", *RANKS_OFF_BY, "RuntimeError", "KeyboardInterrupt", "generator"]
)
ONE_OF_ALL = 100
WHICH = st.integers(0, 4) | st.integers(ONE_OF_ALL, ONE_OF_ALL + 6)
"""Which of the sessions, or which of all streams."""


class ScriptedSource:
    """Does what its script says, and counts how often it was asked and by how many at once."""

    def __init__(self, script: Script, clock: ManualClock) -> None:
        self._script = script
        self._clock = clock
        self.calls = 0
        self.active = 0
        self.most_active = 0
        self.gate = asyncio.Event()

    def expected_dp_ranks(self) -> frozenset[int]:
        return frozenset(range(self._script.dp_size))

    async def get_loads(self) -> Sequence[RankSnapshot]:
        self.calls += 1
        self.active += 1
        self.most_active = max(self.most_active, self.active)
        try:
            if self._script.waits:
                await self._wait(self.gate, stubborn=self._script.stubborn)
            return self._answer()
        finally:
            self.active -= 1

    async def _wait(self, gate: asyncio.Event, *, stubborn: bool) -> None:
        while not gate.is_set():
            try:
                await gate.wait()
            except asyncio.CancelledError:
                if not stubborn:
                    raise

    def _answer(self) -> Sequence[RankSnapshot]:
        now_ms = self._clock.unix_ms()
        stamp_ms = {"undated": None, "old": now_ms - STALE_AFTER_MS - 1}.get(self._script.outcome, now_ms)
        ranks = (rank(dp_rank, at=stamp_ms) for dp_rank in reversed(range(self._script.answers)))
        match self._script.outcome:
            case "RuntimeError":
                raise RuntimeError("boom")
            case "KeyboardInterrupt":
                raise KeyboardInterrupt
            case "generator":
                return cast("Sequence[RankSnapshot]", ranks)
        return list(ranks)


class Wire:
    """A stream's writer, as the servicer writes: woken by the session, until it is blocked."""

    def __init__(self) -> None:
        self.session = Session(on_ready=self._wake)
        self.model = ModelStream()
        self.awake = True
        self.blocked = False
        self.received: list[WorkerFrame] = []
        self.acked = 0
        self.window: int | None = None

    def _wake(self) -> None:
        self.awake = True

    def write(self) -> bytes | None:
        """Take the next frame; None when nothing waits."""
        frame = self.session.take()
        if frame is None:
            self.awake = False
        return frame

    def receive(self, frame: WorkerFrame) -> None:
        """Check what holds of every stream, whatever the model says."""
        kind = frame.WhichOneof("payload")
        kinds = [earlier.WhichOneof("payload") for earlier in self.received]
        assert "error" not in kinds, "a frame followed an error"
        assert (kind == "registered") is (kinds == []) or kind == "error", f"{kind} after {kinds}"
        if kind == "report":
            sent = [earlier.report.sequence_id for earlier in self.received if earlier.HasField("report")]
            assert frame.report.sequence_id > max(sent, default=0), "sequence ids must increase"
            in_flight = sum(sequence_id > self.acked for sequence_id in [*sent, frame.report.sequence_id])
            assert self.window is None or in_flight <= self.window, "more reports in flight than granted"
        self.received.append(frame)


class ReporterMachine(RuleBasedStateMachine):
    """Frames, acknowledgements, blocked writers, stalls and bad reads in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.told: list[dict[str, Any]] = []
        self.loop.set_exception_handler(lambda _loop, context: self.told.append(context))
        self.clock = ManualClock()
        self.script = Script()
        self.source = ScriptedSource(self.script, self.clock)
        self.wires: list[Wire] = []
        self.bytes_of: dict[int, bytes] = {}
        self.steps = 0
        self.sound = False  # once a check has failed, or before the start, there is no use in the last ones

    @initialize(epoch=st.booleans(), waits=st.booleans(), windows=st.lists(st.sampled_from([None, 1, 2]), max_size=3))
    def start(self, epoch: bool, waits: bool, windows: list[int | None]) -> None:
        config = ReporterConfig(
            port=0,
            stale_after_ms=STALE_AFTER_MS,
            min_report_interval_ms=MIN_INTERVAL_MS,
            max_lease_ttl_ms=MAX_LEASE_MS,
            max_sessions=MAX_SESSIONS,
            max_frames_per_second=FRAMES_PER_SECOND,
            pull_budget_ms=BUDGET_MS,
            alignment="epoch" if epoch else "registration",
        )

        async def assemble() -> ReporterServer:
            return ReporterServer(config, self.source, self.clock)

        self.server = self.run(assemble())
        self.reporter = LoadReporter(self.server)
        self.monitor = self.server._monitor
        self.script.waits = waits
        self.model = Model(self.script, epoch=epoch)
        self.sound = True
        for router_id, window in zip("abc", windows, strict=False):
            self.send_register(self.connect(blocked=False), router_id, 100, 1_000, window)
        self.happened()

    # What may happen

    @precondition(lambda self: len(self.wires) < 6)
    @rule(blocked=st.booleans())
    def open_stream(self, blocked: bool) -> None:
        self.connect(blocked=blocked)
        self.happened()

    @precondition(lambda self: len(self.wires) < 6)
    @rule(
        router_id=st.sampled_from("abc"),
        interval_ms=st.sampled_from([100, 10, 25, 300]),
        lease_ms=st.sampled_from([1_000, 120, 5_000, 9_000, 1]),
        window=st.sampled_from([None, 1, 2]),
        blocked=st.booleans(),
    )
    def open_and_register(
        self, router_id: str, interval_ms: int, lease_ms: int, window: int | None, blocked: bool
    ) -> None:
        self.send_register(self.connect(blocked=blocked), router_id, interval_ms, lease_ms, window)
        self.happened()

    @precondition(lambda self: self.wires)
    @rule(which=WHICH, router_id=st.none() | IDS, interval_ms=INTERVALS_MS, lease_ms=LEASES_MS, window=WINDOWS)
    def register(self, which: int, router_id: str | None, interval_ms: int, lease_ms: int, window: int | None) -> None:
        wire = self.wire(which)
        if router_id is None:
            router_id = wire.model.router_id or "a"
        self.send_register(wire, router_id, interval_ms, lease_ms, window)
        self.happened()

    @precondition(lambda self: self.wires)
    @rule(
        which=WHICH,
        interval_ms=st.sampled_from([None, 100, 50, 300, 1, 25, None, 0]),
        lease_ms=st.sampled_from([None, 1_000, 120, 5_000, None, 1, 9_000, -1]),
    )
    def update_config(self, which: int, interval_ms: int | None, lease_ms: int | None) -> None:
        wire = self.wire(which)
        update = UpdateConfigRequest(report_interval_ms=interval_ms, lease_ttl_ms=lease_ms)
        self.send(wire, RouterFrame(update_config=update))
        self.model.update(wire.model, interval_ms, lease_ms, self.now_ns)
        self.happened()

    @precondition(lambda self: self.wires)
    @rule(which=WHICH)
    def keep_alive(self, which: int) -> None:
        self.send_keep_alive(self.wire(which), None)
        self.happened()

    @precondition(lambda self: self.wires)
    @rule(which=WHICH, ahead=st.sampled_from([0, 0, 0, -1, -2, 1, 1, 2**60]))
    def acknowledge(self, which: int, ahead: int) -> None:
        """Acknowledge the newest report, an older one, or one that was never sent, above all one that waits to be."""
        wire = self.wire(which)
        acked = max(0, max(wire.model.sent, default=0) + ahead)
        if ahead == 1 and wire.model.waiting is not None:
            acked = wire.model.waiting
        self.send_keep_alive(wire, acked)
        self.happened()

    @precondition(lambda self: self.wires)
    @rule()
    def everybody_acknowledges(self) -> None:
        for wire in self.wires:
            self.send_keep_alive(wire, max(wire.model.sent, default=0))
        self.happened()

    @precondition(lambda self: self.wires)
    @rule(which=WHICH, how=st.sampled_from(["stop", "half-close", "die", "empty frame", "flood"]))
    def leave(self, which: int, how: str) -> None:
        wire = self.wire(which)
        match how:
            case "stop":
                self.send(wire, RouterFrame(stop=StopRequest()))
                self.model.stop(wire.model, self.now_ns)
            case "half-close":
                self.monitor.stop(wire.session)
                self.model.end(wire.model, None)
            case "die":
                self.disconnect(wire)
            case "empty frame":
                self.send(wire, RouterFrame())
                self.model.empty_frame(wire.model, self.now_ns)
            case "flood":
                for _ in range(FRAMES_PER_SECOND + 1):
                    self.send_keep_alive(wire, None)
        self.happened()

    @precondition(lambda self: self.wires)
    @rule(which=WHICH)
    def block_or_unblock(self, which: int) -> None:
        self.wire(which).blocked = not self.wire(which).blocked
        self.nothing_else_happened()

    @precondition(lambda self: any(wire.blocked for wire in self.wires))
    @rule(which=WHICH)
    def write_one_frame(self, which: int) -> None:
        self.write(self.wire(which))
        self.nothing_else_happened()

    @rule(ms=st.sampled_from([100, 10, 50, 1_000, 0, 1, 0.000001, 99, 250, 33]))
    def advance(self, ms: float) -> None:
        target_ns = self.now_ns + round(ms * MS)
        for _ in range(MOST_TIMERS):
            if not self.clock.pending or self.clock.pending[0] > target_ns:
                self.pass_to(target_ns)
                return
            self.pass_to(self.clock.pending[0])

    @rule(times=st.integers(1, 6))
    def advance_to_what_comes_next(self, times: int) -> None:
        for _ in range(times):
            if self.clock.pending:
                self.pass_to(self.clock.pending[0])

    @rule(ms=st.sampled_from([49, 1, 50, 51, 120, 300, 700, 6_000, 10**9]))
    def stall(self, ms: int) -> None:
        self.pass_to(self.now_ns + ms * MS, stalled=True)

    @precondition(lambda self: self.clock.pending)
    @rule(late_ns=st.sampled_from([1, 30 * MS, LEASE_GRACE_NS, LEASE_GRACE_NS + 1, 400 * MS]), times=st.integers(1, 8))
    def stall_beyond_what_comes_next(self, late_ns: int, times: int) -> None:
        for _ in range(times):
            if self.clock.pending:
                self.pass_to(self.clock.pending[0] + late_ns, stalled=True)

    @rule(outcome=OUTCOMES)
    def source_changes(self, outcome: str) -> None:
        self.script.outcome = outcome
        self.nothing_else_happened()

    @rule(waits=st.booleans(), stubborn=st.booleans())
    def source_waits(self, waits: bool, stubborn: bool) -> None:
        self.script.waits, self.script.stubborn = waits, stubborn
        self.nothing_else_happened()

    @precondition(lambda self: self.source.active)
    @rule(outcome=OUTCOMES, waits=st.booleans())
    def source_answers(self, outcome: str, waits: bool) -> None:
        """Release the read that waits; one that follows may wait again."""
        self.script.outcome, self.script.waits = outcome, waits
        self.release()
        self.happened()

    @precondition(lambda self: self.source.active)
    @rule(after_ms=st.sampled_from([0, 1, 90]), changes=st.integers(1, 2), waits=st.booleans())
    def source_answers_with_other_ranks_than_it_had(self, after_ms: int, changes: int, waits: bool) -> None:
        for change in range(changes):
            if self.source.active:
                if self.model.read is not None:
                    self.pass_to(min(self.now_ns + after_ms * MS, self.model.read.until_ns - 1))
                self.script.outcome, self.script.waits = "fresh", waits or change + 1 < changes
                self.change_ranks(1 + self.model.dp_size() % 3, tell=self.model.told_dp_size is not None, have=True)
                self.release()
                self.happened()

    @rule(dp_size=st.integers(1, 3), tell=st.booleans(), have=st.booleans())
    def ranks_change(self, dp_size: int, tell: bool, have: bool) -> None:
        """The source has another number of ranks, the reporter is told one, or both."""
        self.change_ranks(dp_size, tell=tell, have=have)
        self.nothing_else_happened()

    @precondition(lambda self: self.steps > 25 and not self.model.closed)
    @rule()
    def close(self) -> None:
        self.shut_down()
        self.happened()

    def teardown(self) -> None:
        try:
            if self.sound:
                self.finish()
        finally:
            self.loop.close()

    # How it is made to happen

    def run(self, coroutine: "Coroutine[Any, Any, Any]") -> Any:
        async def bounded() -> Any:
            async with asyncio.timeout(SPINS_SECONDS):
                return await coroutine

        return self.loop.run_until_complete(bounded())

    @property
    def now_ns(self) -> int:
        return self.clock.monotonic_ns()

    def wire(self, which: int) -> Wire:
        sessions = [wire for wire in self.wires if wire.model in self.model.registered.values()]
        among = self.wires if which >= ONE_OF_ALL else sessions or self.wires
        return among[which % len(among)]

    def connect(self, *, blocked: bool) -> Wire:
        wire = Wire()
        wire.blocked = blocked
        self.wires.append(wire)
        self.monitor.stream_opened(wire.session)
        self.model.opened(wire.model)
        self.drain(wire)  # a stream's writer sleeps before its first frame is read
        return wire

    def disconnect(self, wire: Wire) -> None:
        self.monitor.stream_closed(wire.session)
        self.model.gone(wire.model)
        self.wires.remove(wire)

    def send(self, wire: Wire, frame: RouterFrame) -> None:
        self.monitor.frame(wire.session, frame, self.now_ns)

    def send_register(self, wire: Wire, router_id: str, interval_ms: int, lease_ms: int, window: int | None) -> None:
        if wire.model.router_id is None:
            wire.window = window
        request = RegisterRequest(
            router_id=router_id, report_interval_ms=interval_ms, lease_ttl_ms=lease_ms, max_unacked_reports=window
        )
        self.send(wire, RouterFrame(register=request))
        self.model.register(wire.model, router_id, interval_ms, lease_ms, window, self.now_ns)

    def send_keep_alive(self, wire: Wire, acked: int | None) -> None:
        wire.acked = max(wire.acked, acked or 0)
        self.send(wire, RouterFrame(keep_alive=KeepAlive(acked_sequence_id=acked)))
        self.model.keep_alive(wire.model, acked, self.now_ns)

    def finish(self) -> None:
        self.shut_down()
        for wire in self.wires:
            wire.blocked = False
        self.happened()
        assert self.wires == []
        self.release()
        self.pass_to(self.now_ns + 10**6 * MS)
        assert asyncio.all_tasks(self.loop) == set()

    def release(self) -> None:
        self.source.gate.set()
        self.source.gate = asyncio.Event()
        if self.model.left_behind:
            self.model.left_behind = False
        elif self.model.read is not None:
            self.model.answered(self.now_ns)

    def change_ranks(self, dp_size: int, *, tell: bool, have: bool) -> None:
        if have:
            self.script.dp_size = dp_size
        if tell:
            self.reporter.update_expected_dp_ranks(range(dp_size))
            self.model.told_dp_size = dp_size

    def shut_down(self) -> None:
        self.monitor.shut_down()
        self.server._fire_loop.end()
        self.model.close()

    def pass_to(self, when_ns: int, *, stalled: bool = False) -> None:
        """Move the clock on: to the next timer or a moment before it, or to any moment when the loop stalls meanwhile."""
        is_woken = bool(self.clock.pending) and self.clock.pending[0] <= when_ns
        move = self.clock.stall if stalled else self.clock.advance
        self.run(move(max(0, when_ns - self.now_ns) / MS))
        if is_woken:
            self.happened()
        else:
            self.nothing_else_happened()

    # What is checked

    def happened(self) -> None:
        """Check after something that wakes the reporter."""
        self.model.look(self.now_ns)
        self.nothing_else_happened()

    def nothing_else_happened(self) -> None:
        """Check after something that doesn't."""
        self.sound = False
        self.steps += 1
        self.run(settle())
        for wire in list(self.wires):
            self.drain(wire)
            assert wire.blocked or wire.model.take() is None, "a frame isn't written, or its writer wasn't woken"
        assert self.server.counters.fires == len(self.model.reports)
        assert self.server.counters.coalesced_reports == self.model.coalesced
        assert self.source.calls == self.model.reads
        assert self.source.most_active <= 1
        assert self.source.active == (self.model.read is not None or self.model.left_behind)
        assert self.told == []
        needed_by_ns = self.model.needed_by(self.now_ns)
        if needed_by_ns is None:
            assert self.clock.pending == [], "a timer runs for nobody"
        else:
            [timer_ns] = self.clock.pending
            assert timer_ns <= needed_by_ns, "the reporter would sleep too long"
        self.sound = True

    def drain(self, wire: Wire) -> None:
        while wire.awake and not wire.blocked:
            self.write(wire)

    def write(self, wire: Wire) -> None:
        """Write one frame, and close the stream when there is none after its end."""
        written = wire.write()
        assert wire.model.take() == (None if written is None else self.decode(wire, written))
        if written is None and wire.session.ended:
            self.disconnect(wire)

    def decode(self, wire: Wire, written: bytes) -> Expected:
        frame = WorkerFrame.FromString(written)
        wire.receive(frame)
        kind = frame.WhichOneof("payload")
        if kind == "error":
            return ("error", frame.error.code)
        if kind == "report":
            self.check_report(frame.report, written)
            return ("report", frame.report.sequence_id)
        granted = frame.registered
        assert granted.renew_after_ms == max(1, granted.lease_ttl_ms // 3) < granted.lease_ttl_ms
        assert granted.source_instance_id == self.server.source_instance_id
        return ("registered", granted.report_interval_ms, granted.lease_ttl_ms)

    def check_report(self, report: LoadReport, written: bytes) -> None:
        assert self.bytes_of.setdefault(report.sequence_id, written) == written
        built = self.model.reports[report.sequence_id - 1]
        assert report.report_time_unix_ms == self.clock.wall_offset_ms + built.time_ns // MS
        assert ReportStatus.Name(report.status) == f"REPORT_STATUS_{built.status}"
        assert [item.dp_rank for item in report.ranks] == list(range(built.dp_size))
        assert report.HasField("last_error") is (built.status != "HEALTHY")
        assert report.active_routers == built.routers
        assert report.source_instance_id == self.server.source_instance_id


def run_machine(examples: int, steps: int) -> None:
    # Explaining a failure would take longer than finding it.
    run_state_machine_as_test(
        ReporterMachine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            phases=[phase for phase in Phase if phase is not Phase.explain],
        ),
    )


@pytest.mark.timeout(600)  # a failure is made small first
@pytest.mark.clause("OPEN-1", "OPEN-2", "OPEN-3", "OPEN-5", "OPEN-6", "OPEN-7", "CHANGE-1", "CHANGE-2", "CHANGE-3")
@pytest.mark.clause("LEASE-1", "LEASE-2", "LEASE-3", "LEASE-4", "REPORT-1", "REPORT-2", "REPORT-3", "REPORT-6")
@pytest.mark.clause("ACK-1", "ACK-2", "ACK-3", "END-2", "END-4")
def test_a_reporter_does_what_the_contract_says_whatever_happens() -> None:
    run_machine(examples=400, steps=50)


@pytest.mark.long
@pytest.mark.timeout(3_600)
def test_a_reporter_does_what_the_contract_says_whatever_happens_for_long() -> None:
    run_machine(examples=20_000, steps=100)
