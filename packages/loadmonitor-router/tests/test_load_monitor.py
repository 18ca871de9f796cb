"""The monitor of a fleet against real gRPC servers: who is watched, what a snapshot holds, and when it changes."""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from types import TracebackType
from typing import Any, Self

import pytest

import loadmonitor_proto as wire
from loadmonitor_router import (
    ClientStateError,
    ConfigError,
    ConnectionState,
    DropReason,
    DuplicateWorkerError,
    FleetSnapshot,
    Freshness,
    LoadMonitor,
    ReconnectReason,
    WorkerLoad,
    WorkerTarget,
    WorkerType,
)
from loadmonitor_router.testing import ManualClock, ScriptedStream, ScriptedWorker, wire_rank, wire_report

pytestmark = pytest.mark.usefixtures("leaves_nothing")

STOP = wire.RouterFrame(stop=wire.StopRequest())


class Fleet:
    """Scripted Workers w0, w1, … beside a monitor that watches them all, on a clock that stands still."""

    def __init__(self, clock: ManualClock, size: int, **settings: Any) -> None:
        self.clock = clock
        self.workers = [ScriptedWorker() for _ in range(size)]
        self.streams: list[ScriptedStream] = []
        # Intervals so short that acknowledgements go out at once.
        self.monitor = LoadMonitor(router_id="r", report_interval_ms=50, clock=clock, **settings)

    async def __aenter__(self) -> Self:
        self._stack = AsyncExitStack()
        for worker in self.workers:
            await self._stack.enter_async_context(worker)
        await self._stack.enter_async_context(self.monitor)
        self.monitor.reconcile(self.targets)
        for worker in self.workers:
            stream = await worker.accept()
            await stream.acknowledge()
            self.streams.append(stream)
        await self.until(lambda fleet: all(map(registered, fleet.workers.values())))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    @property
    def targets(self) -> list[WorkerTarget]:
        return [target(number, worker.address) for number, worker in enumerate(self.workers)]

    async def report(self, number: int, sequence_id: int, **fields: Any) -> WorkerLoad:
        """Let a Worker report; return its load once the monitor has it."""
        await self.streams[number].report(wire_report(sequence_id, **fields))
        snapshot = await self.until(lambda fleet: sequence(fleet.workers[url(number)]) == sequence_id)
        return snapshot.workers[url(number)]

    async def until(self, holds: Callable[[FleetSnapshot], bool]) -> FleetSnapshot:
        async for snapshot in self.monitor.changes():
            if holds(snapshot):
                return snapshot
        raise AssertionError("the monitor was left")


def url(number: int) -> str:
    return f"http://w{number}:30000"


def target(number: int, reporter: str, worker_type: WorkerType = WorkerType.REGULAR) -> WorkerTarget:
    return WorkerTarget(url=url(number), reporter=reporter, worker_type=worker_type)


def registered(load: WorkerLoad) -> bool:
    return load.connection.state is ConnectionState.REGISTERED


def sequence(load: WorkerLoad) -> int | None:
    return None if load.report is None else load.report.sequence_id


@asynccontextmanager
async def silent_port() -> AsyncIterator[str]:
    """Somebody who accepts connections and never says a word."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        yield f"127.0.0.1:{silent.getsockname()[1]}"


async def test_a_report_makes_its_worker_fresh_with_every_rank_and_their_aggregate(clock: ManualClock) -> None:
    async with Fleet(clock, 2) as fleet:
        load = await fleet.report(1, 1, ranks=[wire_rank(0), wire_rank(1)])
        assert (load.freshness, load.reason, load.age_ms, load.receipt_age_ms) == (Freshness.FRESH, None, 20, 0)
        assert load.report is not None
        assert [rank.dp_rank for rank in load.report.ranks] == [0, 1]
        assert load.aggregate is not None
        assert load.aggregate.num_running_reqs == 24
        assert fleet.monitor.fresh_load(url(1)) == load
        assert fleet.monitor.fresh_load(url(0)) is None
        assert fleet.monitor.fresh_load("http://nobody:1") is None


async def test_workers_come_sorted_by_url_in_whatever_order_they_were_given(clock: ManualClock) -> None:
    async with Fleet(clock, 3) as fleet:
        fleet.monitor.reconcile(reversed(fleet.targets))
        assert list(fleet.monitor.snapshot().workers) == [url(0), url(1), url(2)]


async def test_pressure_comes_from_the_counters_of_two_reports(clock: ManualClock) -> None:
    def ranks(tokens: int, busy_us: int) -> list[wire.RankLoad]:
        return [wire_rank(prefill_uncached_tokens_total=tokens, prefill_busy_us_total=busy_us)]

    async with Fleet(clock, 1) as fleet:
        assert (await fleet.report(0, 1, ranks=ranks(0, 0))).queue_pressure_seconds == {0: None}
        load = await fleet.report(0, 2, ranks=ranks(2_048, 500_000))
        assert load.queue_pressure_seconds == {0: 1.0}
        assert load.aggregate is not None
        assert load.aggregate.queue_pressure_seconds == 1.0


async def test_a_report_turns_stale_by_itself_and_who_waits_is_told(clock: ManualClock) -> None:
    async with Fleet(clock, 2) as fleet:
        await fleet.report(0, 1)
        before = fleet.monitor.snapshot()
        waiting = asyncio.create_task(fleet.monitor.changed(before.version))
        await asyncio.sleep(0)
        clock.move(2_980)
        assert fleet.monitor.snapshot().version == before.version
        assert fleet.monitor.fresh_load(url(0)) is not None
        clock.move(0.001)
        after = await waiting
        load = after.workers[url(0)]
        assert (load.freshness, load.reason) == (Freshness.STALE, "3000 ms old, fresh is up to 3000 ms")
        assert load.aggregate is not None
        assert after.version == before.version + 1
        assert before.workers[url(0)].freshness is Freshness.FRESH
        clock.move(60_000)
        assert fleet.monitor.snapshot().version == after.version
        assert fleet.monitor.snapshot().workers[url(0)].age_ms == pytest.approx(63_000, abs=1)


async def test_each_worker_turns_stale_in_its_own_time(clock: ManualClock) -> None:
    async with Fleet(clock, 2) as fleet:
        await fleet.report(0, 1)
        await fleet.report(1, 1, max_snapshot_age_ms=1_000)
        version = fleet.monitor.snapshot().version
        clock.move(2_500)
        snapshot = fleet.monitor.snapshot()
        assert [load.freshness for load in snapshot.workers.values()] == [Freshness.FRESH, Freshness.STALE]
        assert snapshot.version == version + 1
        clock.move(500)
        assert fleet.monitor.snapshot().version == version + 2
        assert fleet.monitor.fresh_load(url(0)) is None


async def test_a_snapshot_taken_before_the_timer_has_run_sees_the_verdict_too() -> None:
    class LateClock(ManualClock):
        def move(self, ms: float) -> None:
            self._now_ns += int(ms * 1_000_000)  # a loop that is busy runs no timer

    late = LateClock()
    async with Fleet(late, 1) as fleet:
        await fleet.report(0, 1)
        version = fleet.monitor.snapshot().version
        late.move(10_000)
        snapshot = fleet.monitor.snapshot()
        assert snapshot.fresh_load(url(0)) is None
        assert snapshot.version == version + 1


async def test_a_snapshot_never_changes_and_one_version_is_one_state(clock: ManualClock) -> None:
    async with Fleet(clock, 2) as fleet:
        await fleet.report(0, 1)
        assert fleet.monitor.snapshot() == fleet.monitor.snapshot()
        first = fleet.monitor.snapshot()  # and nobody has looked into it before the changes
        await fleet.report(1, 1)
        await fleet.report(0, 2)
        assert list(first.workers) == [url(0), url(1)]
        assert [sequence(load) for load in first.workers.values()] == [1, None]
        fleet.monitor.reconcile(fleet.targets[:1])
        assert list(first.workers) == [url(0), url(1)]
        assert fleet.monitor.snapshot().version > first.version


@pytest.mark.parametrize("step_ms", [-3_600_000, 3_600_000])
async def test_a_step_of_either_wall_clock_makes_nothing_older_or_younger(clock: ManualClock, step_ms: int) -> None:
    async with Fleet(clock, 1) as fleet:
        await fleet.report(0, 1)
        await fleet.streams[0].receive()  # the acknowledgement
        clock.wall_offset_ms += step_ms
        clock.move(2_000)
        assert fleet.monitor.snapshot().workers[url(0)].age_ms == 2_020
        load = await fleet.report(0, 2, report_time_unix_ms=1_750_000_000_020 + step_ms)
        # It was acknowledged 2 s ago: the second may have been under way since.
        assert (load.age_ms, load.freshness) == (2_020, Freshness.FRESH)
        clock.move(981)
        assert fleet.monitor.fresh_load(url(0)) is None


@pytest.mark.parametrize("window", [1, 2])
async def test_the_reports_in_flight_over_a_stall_are_delivered_and_not_fresh_and_the_next_one_is(
    clock: ManualClock, window: int
) -> None:
    async with Fleet(clock, 1, max_unacked_reports=window) as fleet:
        (stream,) = fleet.streams
        for number in range(1, window + 1):
            await fleet.report(0, number)
            assert (await stream.receive()) == wire.RouterFrame(keep_alive=wire.KeepAlive(acked_sequence_id=number))
        # Built right after the acknowledgements, and read when the router runs again.
        clock.move(10_000)
        for number in range(window + 1, 2 * window + 1):
            load = await fleet.report(0, number)
            assert (load.freshness, load.age_ms, load.receipt_age_ms) == (Freshness.STALE, 10_020, 0)
        frames = [await stream.receive() for _ in range(window + 1)]
        assert frames[-1] == wire.RouterFrame(keep_alive=wire.KeepAlive(acked_sequence_id=2 * window))
        load = await fleet.report(0, 2 * window + 1)
        assert (load.freshness, load.age_ms) == (Freshness.FRESH, 20)


async def test_workers_and_ranks_are_never_compared_with_one_another(clock: ManualClock) -> None:
    async with Fleet(clock, 2) as fleet:
        newer = [wire_rank(0, snapshot_time_unix_ms=1_750_000_000_010), wire_rank(1)]
        await fleet.report(0, 100, ranks=newer)
        assert (await fleet.report(1, 1)).freshness is Freshness.FRESH
        older = [wire_rank(0), wire_rank(1, snapshot_time_unix_ms=1_750_000_000_010)]
        assert (await fleet.report(0, 101, ranks=older)).freshness is Freshness.FRESH


async def test_a_bad_report_is_counted_and_explained_and_the_one_before_stays(clock: ManualClock) -> None:
    async with Fleet(clock, 1) as fleet:
        await fleet.report(0, 1)
        await fleet.streams[0].report(wire_report(2, ranks=[wire_rank(num_waiting_reqs=-2)]))
        snapshot = await fleet.until(lambda fleet: fleet.workers[url(0)].connection.received == 2)
        load = snapshot.workers[url(0)]
        assert load.connection.dropped == {DropReason.NEGATIVE: 1}
        assert load.connection.last_drop == "report 2 of instance a: rank 0: num_waiting_reqs=-2 is negative"
        assert (load.freshness, sequence(load)) == (Freshness.FRESH, 1)
        assert sequence(await fleet.report(0, 3)) == 3


async def test_an_unreachable_engine_has_no_numbers_and_says_why(clock: ManualClock) -> None:
    async with Fleet(clock, 1) as fleet:
        await fleet.report(0, 1)
        load = await fleet.report(
            0, 2, ranks=[], status=wire.ReportStatus.REPORT_STATUS_UNREACHABLE, last_error="time-out"
        )
        assert (load.freshness, load.reason, load.aggregate) == (Freshness.UNREACHABLE, "time-out", None)


async def test_a_lost_connection_is_missing_at_once_and_fresh_again_with_the_next_report(clock: ManualClock) -> None:
    async with Fleet(clock, 1) as fleet:
        await fleet.report(0, 7)
        await fleet.streams[0].fail("SHUTTING_DOWN", "going down")
        snapshot = await fleet.until(lambda fleet: not registered(fleet.workers[url(0)]))
        load = snapshot.workers[url(0)]
        assert (load.freshness, load.report, load.aggregate) == (Freshness.MISSING, None, None)
        assert load.reason == "SHUTTING_DOWN: going down"
        clock.move(200)
        fleet.streams[0] = await fleet.workers[0].accept()
        await fleet.streams[0].acknowledge()
        await fleet.streams[0].report(wire_report(7))  # as before: the order of reports outlives the stream
        assert (await fleet.report(0, 8)).freshness is Freshness.FRESH
        assert fleet.monitor.stats.dropped_reports_total == {DropReason.OUT_OF_ORDER: 1}
        assert fleet.monitor.stats.reconnects_total == {ReconnectReason.SHUTTING_DOWN: 1}


async def test_failing_workers_do_not_delay_a_healthy_one(clock: ManualClock) -> None:
    async with (
        silent_port() as black_hole,
        ScriptedWorker(has_service=False) as engine,
        ScriptedWorker() as mute,
        ScriptedWorker() as healthy,
        LoadMonitor(router_id="r", clock=clock) as monitor,
    ):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))  # and doesn't listen: refused
            refusing = f"127.0.0.1:{taken.getsockname()[1]}"
            reporters = [black_hole, refusing, engine.address, mute.address, healthy.address]
            monitor.reconcile([target(number, reporter) for number, reporter in enumerate(reporters)])
            stream = await healthy.accept()
            await stream.acknowledge()
            await stream.report(wire_report(1))
            async for snapshot in monitor.changes():
                verdicts = [load.freshness for load in snapshot.workers.values()]
                failed = [snapshot.workers[url(number)].connection.last_error for number in (1, 2)]
                if verdicts == 4 * [Freshness.MISSING] + [Freshness.FRESH] and None not in failed:
                    break
            assert "has no sglang" in (monitor.snapshot().workers[url(2)].reason or "")
            assert monitor.snapshot().workers[url(0)].reason == "connecting, no report yet"


async def test_a_worker_that_refuses_for_good_is_failed_until_it_is_put_in_anew(clock: ManualClock) -> None:
    async with Fleet(clock, 1) as fleet:
        await fleet.streams[0].fail("PERMISSION_DENIED", "not you")
        await fleet.until(lambda fleet: fleet.workers[url(0)].connection.state is ConnectionState.FAILED)
        assert "PERMISSION_DENIED: not you" in (fleet.monitor.snapshot().workers[url(0)].reason or "")
        fleet.monitor.reconcile([])
        fleet.monitor.reconcile(fleet.targets)
        await fleet.workers[0].accept()


async def test_a_worker_that_is_gone_leaves_at_once_and_is_told_to_stop(clock: ManualClock) -> None:
    async with Fleet(clock, 2) as fleet:
        await fleet.report(0, 1)
        await fleet.report(1, 1)
        before = fleet.monitor.snapshot().version
        fleet.monitor.reconcile(fleet.targets[:1])
        snapshot = fleet.monitor.snapshot()
        assert list(snapshot.workers) == [url(0)]
        assert snapshot.version > before
        assert fleet.monitor.fresh_load(url(1)) is None
        await fleet.streams[1].report(wire_report(2))
        while await fleet.streams[1].receive() != STOP:
            pass
        assert await fleet.streams[1].receive() is None
        assert list(fleet.monitor.snapshot().workers) == [url(0)]
        assert fleet.monitor.stats.reports_total == 2


@pytest.mark.parametrize("change", ["url", "reporter", "worker_type"])
async def test_a_changed_identity_starts_afresh_and_the_others_keep_their_state(
    clock: ManualClock, change: str
) -> None:
    async with Fleet(clock, 2) as fleet, ScriptedWorker() as elsewhere:
        await fleet.report(0, 5)
        await fleet.report(1, 5)
        reporter = elsewhere.address if change == "reporter" else fleet.workers[1].address
        changed = {
            "url": target(9, reporter),
            "reporter": target(1, reporter),
            "worker_type": target(1, reporter, WorkerType.PREFILL),
        }[change]
        fleet.monitor.reconcile([changed, fleet.targets[0]])
        workers = fleet.monitor.snapshot().workers
        assert list(workers) == [url(0), changed.url]
        assert workers[changed.url].target == changed
        assert workers[changed.url].freshness is Freshness.MISSING
        assert (sequence(workers[url(0)]), workers[url(0)].connection.reconnects) == (5, 0)
        stream = await (elsewhere if change == "reporter" else fleet.workers[1]).accept()
        await stream.acknowledge()
        await stream.report(wire_report(1))  # an old sequence number is no news of the old identity
        snapshot = await fleet.until(lambda fleet: sequence(fleet.workers[changed.url]) == 1)
        assert sequence(snapshot.workers[url(0)]) == 5


async def test_the_same_list_again_changes_nothing(clock: ManualClock) -> None:
    async with Fleet(clock, 2) as fleet:
        await fleet.report(0, 1)
        before = fleet.monitor.snapshot()
        fleet.monitor.reconcile(fleet.targets)
        fleet.monitor.reconcile(iter(reversed(fleet.targets)))
        assert fleet.monitor.snapshot() == before


@pytest.mark.parametrize("reporter", ["w9:50061", "W0:50061"])
async def test_two_descriptions_of_one_worker_are_refused_and_change_nothing(clock: ManualClock, reporter: str) -> None:
    async with LoadMonitor(router_id="r", clock=clock) as monitor:
        monitor.reconcile([target(0, "w0:50061")])
        before = monitor.snapshot()
        second = WorkerTarget(url="http://W0:30000/" if reporter == "w9:50061" else url(9), reporter=reporter)
        with pytest.raises(DuplicateWorkerError) as caught:
            monitor.reconcile([target(0, "w0:50061"), target(1, "w1:50061"), second])
        assert (caught.value.first, caught.value.second) == (url(0), second.url)
        assert monitor.snapshot() == before


async def test_an_option_that_gRPC_would_misread_is_refused_before_anything_changes(clock: ManualClock) -> None:  # noqa: N802
    async with LoadMonitor(router_id="r", clock=clock, options={"grpc.no_such_option": 1}) as monitor:
        with pytest.raises(ConfigError, match=r"grpc\.no_such_option"):
            monitor.reconcile([target(0, "w0:50061")])
        assert not monitor.snapshot().workers


def test_a_window_shorter_than_twice_the_interval_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"freshness_ms=1999 .* 2000 or more"):
        LoadMonitor(router_id="r", freshness_ms=1_999)
    assert LoadMonitor(router_id="r", freshness_ms=2_000).freshness_ms == 2_000


@pytest.mark.parametrize("setting", [{"router_id": " "}, {"report_interval_ms": 0}, {"freshness_ms": 3_000.5}])
def test_settings_are_checked_at_once(setting: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(setting))):
        LoadMonitor(**({"router_id": "r"} | setting))


async def test_a_worker_that_grants_too_long_an_interval_is_named_once_in_the_log_and_in_the_reason(
    clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    async with ScriptedWorker() as worker, LoadMonitor(router_id="r", clock=clock) as monitor:
        monitor.reconcile([target(0, worker.address)])
        for attempt in range(2):
            stream = await worker.accept()
            stream.register.report_interval_ms = 2_000  # what `acknowledge` grants
            await stream.acknowledge()
            await stream.report(wire_report(attempt))
            version = 0
            while sequence((snapshot := await monitor.changed(version)).workers[url(0)]) != attempt:
                version = snapshot.version
            assert snapshot.fresh_load(url(0)) is not None
            clock.move(3_000)
            assert "the Worker grants a report every 2000 ms" in (monitor.snapshot().workers[url(0)].reason or "")
            await stream.end()
            while registered((snapshot := await monitor.changed(snapshot.version)).workers[url(0)]):
                pass
            clock.move(5_000)
    warnings = [record for record in caplog.records if "grants a report every" in record.getMessage()]
    assert [(record.levelno, url(0) in record.getMessage()) for record in warnings] == [(logging.WARNING, True)]


async def test_what_workers_counted_that_are_gone_stays_counted(clock: ManualClock) -> None:
    async with Fleet(clock, 2) as fleet:
        await fleet.report(0, 1)
        await fleet.report(1, 1)
        await fleet.streams[1].report(wire_report(1))
        await fleet.until(lambda fleet: fleet.workers[url(1)].connection.received == 2)
        await fleet.streams[1].fail("SHUTTING_DOWN")
        await fleet.until(lambda fleet: not registered(fleet.workers[url(1)]))
        before = fleet.monitor.stats
        assert before.sessions == {ConnectionState.REGISTERED: 1, ConnectionState.BACKING_OFF: 1}
        assert before.reconnects_total == {}  # the next attempt is still to come
        clock.move(200)
        await fleet.until(lambda fleet: fleet.workers[url(1)].connection.state is ConnectionState.CONNECTING)
        fleet.monitor.reconcile([])
        after = fleet.monitor.stats
        assert (after.reports_total, after.dropped_reports_total) == (3, {DropReason.OUT_OF_ORDER: 1})
        assert after.reconnects_total == {ReconnectReason.SHUTTING_DOWN: 1}
        assert (before.reconnects_total, after.sessions) == ({}, {})


async def test_delivery_ages_are_observed_as_reports_come_and_unknown_ones_are_not(clock: ManualClock) -> None:
    async with Fleet(clock, 1) as fleet:
        await fleet.report(0, 1)
        before = fleet.monitor.stats
        await fleet.report(0, 2, max_snapshot_age_ms=700)
        status = wire.ReportStatus.REPORT_STATUS_UNREACHABLE
        await fleet.report(0, 3, ranks=[], status=status, last_error="no file", max_snapshot_age_ms=None)
        stats = fleet.monitor.stats
    assert stats.delivery_age_seconds.sum == pytest.approx(0.72)
    assert before.delivery_age_seconds.sum == 0.02
    assert [number for _, number in stats.delivery_age_seconds.cumulative()][2:9] == [1, 1, 1, 1, 1, 2, 2]
    assert (stats.fail_open, stats.picks_total) == (None, {})


async def test_a_worker_known_by_its_reporter_only_is_named_by_that(clock: ManualClock) -> None:
    async with ScriptedWorker() as worker, LoadMonitor(router_id="r", clock=clock) as monitor:
        monitor.reconcile([WorkerTarget(url=worker.address, reporter=worker.address)])
        await worker.accept()
        assert list(monitor.snapshot().workers) == [worker.address]


async def test_who_waits_for_a_change_hears_when_the_monitor_is_left(clock: ManualClock) -> None:
    async def follow(monitor: LoadMonitor) -> list[int]:
        return [snapshot.version async for snapshot in monitor.changes()]

    async with LoadMonitor(router_id="r", clock=clock) as monitor:
        following = asyncio.create_task(follow(monitor))
        waiting = asyncio.create_task(monitor.changed(monitor.snapshot().version))
        await asyncio.sleep(0)
    assert await following == [0]
    with pytest.raises(ClientStateError, match="isn't open"):
        await waiting


async def test_one_waiter_that_gives_up_takes_nothing_from_the_others(clock: ManualClock) -> None:
    async with LoadMonitor(router_id="r", clock=clock) as monitor:
        impatient, patient = (asyncio.create_task(monitor.changed(0)) for _ in range(2))
        await asyncio.sleep(0)
        impatient.cancel()
        await asyncio.wait({impatient})
        monitor.reconcile([target(0, "127.0.0.1:1")])
        assert list((await patient).workers) == [url(0)]


async def test_outside_its_block_a_monitor_watches_nobody_and_says_so(clock: ManualClock) -> None:
    monitor = LoadMonitor(router_id="r", clock=clock)
    for _ in range(2):
        with pytest.raises(ClientStateError, match="isn't open"):
            monitor.reconcile([])
        assert not monitor.snapshot().workers
        async with monitor:
            with pytest.raises(ClientStateError, match="open already"):
                await monitor.__aenter__()
            monitor.reconcile([target(0, "127.0.0.1:1")])
            assert list(monitor.snapshot().workers) == [url(0)]
