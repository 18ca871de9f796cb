"""The clauses of the stream, over real gRPC, on a manual clock."""

import grpc.aio
import pytest
from worker_bench import LEASE_GRACE_MS, Bench, Router, StartBench, register

from loadmonitor_proto import KeepAlive, RouterFrame, StopRequest, UpdateConfigRequest, WorkerFrame, WorkerType
from loadmonitor_proto import ReportStatus as Status
from loadmonitor_proto.service import MONITOR_METHOD
from loadmonitor_worker._session import LEASE_GRACE_NS
from loadmonitor_worker.testing import rank


def update(**values: int) -> RouterFrame:
    return RouterFrame(update_config=UpdateConfigRequest(**values))


@pytest.mark.clause("OPEN-1", "END-1")
async def test_a_first_frame_other_than_register_is_refused_and_the_stream_ends_ok(bench: Bench) -> None:
    for frame in (RouterFrame(keep_alive=KeepAlive()), RouterFrame(stop=StopRequest()), update(lease_ttl_ms=5)):
        router = await bench.router()
        await router.send(frame)
        error = await router.ended()
        assert error is not None
        assert error.code == "INVALID_FIRST_FRAME"


@pytest.mark.clause("OPEN-2", "END-1")
@pytest.mark.parametrize(
    ("frame", "named"),
    [
        (register(""), "router_id"),
        (register(" \t"), "router_id"),
        (register("r" * 257), "257 characters"),
        (register(interval_ms=0), "report_interval_ms=0"),
        (register(interval_ms=-5), "report_interval_ms=-5"),
        (register(lease_ms=0), "lease_ttl_ms=0"),
        (register(lease_ms=-1), "lease_ttl_ms=-1"),
        (register(window=0), "max_unacked_reports=0"),
    ],
)
async def test_a_register_with_a_bad_value_is_refused_by_name(bench: Bench, frame: RouterFrame, named: str) -> None:
    router = await bench.router()
    await router.send(frame)
    error = await router.ended()
    assert error is not None
    assert error.code == "INVALID_ARGUMENT"
    assert named in error.message
    assert bench.source.pulls == 0


@pytest.mark.clause("OPEN-3", "OPEN-4", "CHANGE-3")
async def test_register_is_acknowledged_once_before_the_first_report_which_is_due_at_once(bench: Bench) -> None:
    router = await bench.router()
    granted = await router.register(interval_ms=250, lease_ms=9_000)
    assert granted.lease_ttl_ms == 9_000
    assert granted.renew_after_ms == 3_000
    assert granted.report_interval_ms == 250
    assert granted.stale_after_ms == 3_000
    assert granted.source_instance_id == bench.reporter.source_instance_id
    assert granted.min_report_interval_ms == 10
    assert granted.max_lease_ttl_ms == 300_000
    assert (await router.report()).sequence_id == 1


@pytest.mark.clause("OPEN-5", "CHANGE-1")
@pytest.mark.parametrize(
    ("asked", "granted"), [((1, 400_000), (10, 300_000)), ((10, 1), (10, 2)), ((2**62, 2**62), (2**62, 300_000))]
)
async def test_values_beyond_the_limits_are_clamped_and_told(
    bench: Bench, asked: tuple[int, int], granted: tuple[int, int]
) -> None:
    router = await bench.router()
    response = await router.register(interval_ms=asked[0], lease_ms=asked[1])
    assert (response.report_interval_ms, response.lease_ttl_ms) == granted
    assert response.renew_after_ms < response.lease_ttl_ms


@pytest.mark.clause("CHANGE-1", "CHANGE-3")
async def test_an_update_changes_the_interval_in_phase_and_is_neither_acknowledged_nor_rewarded(bench: Bench) -> None:
    router = await bench.registered(interval_ms=1_000)
    await bench.clock.advance(300)
    await router.send(update(report_interval_ms=1))
    await bench.seen(lambda: bench.clock.pending[0] == 310_000_000)
    assert bench.source.pulls == 1
    await bench.clock.advance(10)
    assert (await router.report()).sequence_id == 2
    await router.send(register(interval_ms=400))
    await bench.seen(lambda: bench.clock.pending[0] == 400_000_000)
    await bench.clock.advance(90)
    assert (await router.report()).sequence_id == 3


@pytest.mark.clause("CHANGE-1", "ACK-1")
@pytest.mark.parametrize(("first", "later"), [(None, 1), (1, None), (1, 3)])
async def test_a_repeated_register_leaves_the_window_as_it_was(
    bench: Bench, first: int | None, later: int | None
) -> None:
    router = await bench.registered(interval_ms=100, lease_ms=5_000, window=first)
    await router.send(register(interval_ms=100, lease_ms=7_000, window=later))
    await bench.seen(lambda: bench.lease_until_ms() == 7_000)
    for _ in range(3):
        await bench.clock.advance(100)
    assert bench.source.pulls == (4 if first is None else 1)


@pytest.mark.clause("CHANGE-2")
@pytest.mark.parametrize(
    ("frame", "named"),
    [
        (update(report_interval_ms=0), "report_interval_ms=0"),
        (update(lease_ttl_ms=-3), "lease_ttl_ms=-3"),
        (register("r", interval_ms=0), "report_interval_ms=0"),
        (register("somebody-else"), "somebody-else"),
    ],
)
async def test_a_bad_change_ends_the_stream(bench: Bench, frame: RouterFrame, named: str) -> None:
    router = await bench.registered("r")
    await router.send(frame)
    error = await router.ended()
    assert error is not None
    assert error.code == "INVALID_ARGUMENT"
    assert named in error.message


@pytest.mark.clause("CHANGE-3", "REPORT-2")
async def test_reports_follow_the_registrations_phase_and_missed_deadlines_are_skipped(bench: Bench) -> None:
    router = await bench.registered(interval_ms=100)
    await bench.clock.advance(100)
    assert (await router.report()).sequence_id == 2
    await bench.clock.stall(350)
    assert (await router.report()).sequence_id == 3
    await bench.clock.advance(49)
    assert bench.source.pulls == 3
    await bench.clock.advance(1)
    late = await router.report()
    assert late.sequence_id == 4
    assert late.report_time_unix_ms - bench.clock.wall_offset_ms == 500


@pytest.mark.clause("CHANGE-3")
async def test_aligned_to_an_epoch_routers_share_reads_whenever_they_registered(start: StartBench) -> None:
    bench = await start(alignment="epoch")
    await bench.clock.advance(30)
    first = await bench.registered("first", interval_ms=100)
    await bench.clock.advance(20)
    harmonic = await bench.registered("harmonic", interval_ms=200)
    assert bench.source.pulls == 2
    await bench.clock.advance(50)
    assert (await first.report()).report_time_unix_ms - bench.clock.wall_offset_ms == 100
    await bench.clock.advance(100)
    assert await first.report() == await harmonic.report()
    assert bench.source.pulls == 4
    await first.send(update(report_interval_ms=50))
    await bench.seen(lambda: bench.clock.pending[0] == 250_000_000)
    await bench.clock.stall(275)
    late = await first.report()
    assert late == await harmonic.report()
    await bench.clock.advance(25)
    assert (await first.report()).report_time_unix_ms - bench.clock.wall_offset_ms == 500


@pytest.mark.clause("OPEN-6")
async def test_a_router_that_sends_too_many_frames_is_ended_and_others_are_served(start: StartBench) -> None:
    bench = await start(max_frames_per_second=5)
    other = await bench.registered("other")
    flood = await bench.registered("flood")
    for _ in range(5):
        await flood.keep_alive()
    error = await flood.ended()
    assert error is not None
    assert error.code == "RESOURCE_EXHAUSTED"
    assert "5 frames a second" in error.message
    await bench.clock.advance(1_000)
    await other.report()


@pytest.mark.clause("OPEN-6")
async def test_a_router_beyond_the_maximum_is_refused_and_nobody_is_evicted(start: StartBench) -> None:
    bench = await start(max_sessions=1)
    first = await bench.registered("a")
    second = await bench.router()
    await second.send(register("b"))
    error = await second.ended()
    assert error is not None
    assert error.code == "RESOURCE_EXHAUSTED"
    await bench.clock.advance(1_000)
    await first.report()
    again = await bench.router()
    await again.register("a")
    replaced = await first.ended()
    assert replaced is not None
    assert replaced.code == "SESSION_REPLACED"


@pytest.mark.clause("OPEN-6")
async def test_streams_that_never_register_are_limited_too(start: StartBench) -> None:
    bench = await start(max_sessions=2)
    registered = await bench.registered()
    for number in range(2, 5):
        await (await bench.router()).call.wait_for_connection()
        await bench.seen(lambda number=number: bench.open_streams() == number)  # type: ignore[misc]
    error = await (await bench.router()).ended()
    assert error is not None
    assert error.code == "RESOURCE_EXHAUSTED"
    await bench.clock.advance(1_000)
    await registered.report()


@pytest.mark.clause("OPEN-7")
async def test_the_same_router_id_on_another_stream_replaces_the_older_session(bench: Bench) -> None:
    older = await bench.registered("r")
    newer = await bench.registered("r")
    error = await older.ended()
    assert error is not None
    assert error.code == "SESSION_REPLACED"
    assert "'r'" in error.message
    await bench.clock.advance(1_000)
    assert (await newer.report()).active_routers == 1


@pytest.mark.clause("OPEN-7")
async def test_a_refused_register_evicts_nobody(bench: Bench) -> None:
    holder = await bench.registered("r")
    thief = await bench.router()
    await thief.send(register("r", lease_ms=0))
    assert await thief.ended() is not None
    await bench.clock.advance(1_000)
    await holder.report()


@pytest.mark.clause("LEASE-1", "LEASE-3")
@pytest.mark.parametrize(
    "frame",
    [
        RouterFrame(keep_alive=KeepAlive()),
        RouterFrame(keep_alive=KeepAlive(acked_sequence_id=1)),
        update(lease_ttl_ms=1_000),
        register(interval_ms=10_000, lease_ms=1_000),
    ],
)
async def test_any_frame_renews_the_lease_and_brings_no_report_forward(bench: Bench, frame: RouterFrame) -> None:
    router = await bench.registered(interval_ms=10_000, lease_ms=1_000)
    await bench.clock.advance(900)
    await router.send(frame)
    await bench.seen(lambda: bench.lease_until_ms() == 1_900)
    await bench.clock.advance(999)
    assert bench.source.pulls == 1
    await bench.clock.advance(1 + LEASE_GRACE_MS)
    error = await router.ended()
    assert error is not None
    assert error.code == "LEASE_EXPIRED"


@pytest.mark.clause("LEASE-2")
async def test_a_silent_router_is_told_that_its_lease_expired(bench: Bench) -> None:
    router = await bench.registered(interval_ms=10_000, lease_ms=1_500)
    await bench.clock.advance(1_500)
    assert bench.clock.pending != []
    await bench.clock.advance(LEASE_GRACE_MS)
    error = await router.ended()
    assert error is not None
    assert error.code == "LEASE_EXPIRED"
    assert "1500 ms" in error.message
    assert bench.clock.pending == []


@pytest.mark.clause("LEASE-1", "CHANGE-3")
async def test_a_lease_that_was_renewed_in_the_last_moment_misses_no_deadline(bench: Bench) -> None:
    router = await bench.registered(interval_ms=40, lease_ms=30)
    await bench.clock.advance(30)
    await router.keep_alive()
    await bench.seen(lambda: bench.lease_until_ms() == 60)
    await bench.clock.advance(10)
    assert (await router.report()).report_time_unix_ms - bench.clock.wall_offset_ms == 40


@pytest.mark.clause("LEASE-2")
async def test_frames_that_arrived_while_the_worker_stalled_still_renew(bench: Bench) -> None:
    router = await bench.registered(interval_ms=60_000, lease_ms=1_500)
    await bench.clock.stall(2_000)
    await router.keep_alive()
    await bench.seen(lambda: bench.lease_until_ms() == 3_500)
    await bench.clock.advance(1_500 + LEASE_GRACE_MS)
    error = await router.ended()
    assert error is not None
    assert error.code == "LEASE_EXPIRED"


@pytest.mark.clause("LEASE-2")
async def test_a_lease_that_runs_out_during_a_pull_neither_shortens_it_nor_earns_its_report(bench: Bench) -> None:
    expiring = await bench.registered("expiring", interval_ms=1_000, lease_ms=1_200)
    other = await bench.registered("other", interval_ms=1_000)
    bench.source.gate.clear()
    await bench.clock.advance(1_900)
    pulls = bench.source.pulls
    bench.source.gate.set()
    report = await other.report()
    assert report.status == Status.REPORT_STATUS_HEALTHY
    assert bench.source.pulls == pulls
    await bench.clock.advance(LEASE_GRACE_NS / 1e6)
    assert (await expiring.receive()).error.code == "LEASE_EXPIRED"


@pytest.mark.clause("LEASE-4")
async def test_stop_ends_the_stream_without_an_error(bench: Bench) -> None:
    router = await bench.registered()
    await router.send(RouterFrame(stop=StopRequest()))
    assert await router.ended() is None
    assert bench.clock.pending == []


async def test_a_router_that_half_closes_is_let_go_like_one_that_stops(bench: Bench) -> None:
    router = await bench.registered()
    await router.call.done_writing()
    assert await router.ended() is None


@pytest.mark.clause("REPORT-1")
async def test_routers_due_together_share_one_pull_and_one_report(bench: Bench) -> None:
    bench.source.gate.clear()
    routers = []
    for name in "abc":
        router = await bench.router()
        await router.register(name)
        routers.append(router)
    assert bench.source.pulls == 1
    bench.source.gate.set()
    first = [await router.report() for router in routers]
    assert bench.source.pulls == 1
    assert first[0] == first[1] == first[2]
    await bench.clock.advance(1_000)
    assert [(await router.report()).sequence_id for router in routers] == [2, 2, 2]
    assert bench.source.pulls == 2


@pytest.mark.clause("REPORT-1")
async def test_a_report_is_encoded_once_and_the_same_bytes_go_to_every_router(bench: Bench) -> None:
    bench.source.gate.clear()
    async with grpc.aio.insecure_channel(bench.reporter.address) as channel:
        raw: grpc.aio.StreamStreamMultiCallable[RouterFrame, bytes] = channel.stream_stream(
            MONITOR_METHOD, request_serializer=RouterFrame.SerializeToString
        )
        calls = [raw() for _ in range(3)]
        for number, call in enumerate(calls):
            await call.write(register(f"r{number}"))
            await call.read()
        bench.source.gate.set()
        frames = {await call.read() for call in calls}
    [frame] = frames
    assert isinstance(frame, bytes)
    assert WorkerFrame.FromString(frame).report.sequence_id == bench.reporter.counters.fires == 1


@pytest.mark.clause("REPORT-1")
async def test_a_session_that_lengthened_its_interval_during_the_pull_is_not_due_at_its_end(bench: Bench) -> None:
    patient = await bench.registered("patient")
    other = await bench.registered("other")
    bench.source.gate.clear()
    await bench.clock.advance(1_000)
    await patient.send(update(report_interval_ms=5_000, lease_ttl_ms=7_000))
    await bench.seen(lambda: bench.lease_until_ms("patient") == 8_000)
    joined = await bench.router()
    await joined.register("joined")
    bench.source.gate.set()
    assert (await other.report()).sequence_id == (await joined.report()).sequence_id
    await bench.clock.advance(3_999)
    await patient.keep_alive()
    await bench.clock.advance(1)
    assert (await patient.report()).report_time_unix_ms - bench.clock.wall_offset_ms == 5_000


@pytest.mark.clause("REPORT-1", "REPORT-3")
@pytest.mark.parametrize("apart_ms", range(1, 40, 2))
async def test_a_deadline_that_passes_while_a_report_is_built_gets_a_read_of_its_own(
    bench: Bench, apart_ms: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await bench.registered("first", interval_ms=100)
    await bench.clock.advance(apart_ms)
    second = await bench.registered("second", interval_ms=100)
    look = bench.clock.monotonic_ns

    def slow_look() -> int:
        """A machine on which each look at the clock takes 4 ms: no two things happen at one moment."""
        bench.clock._now_ns += 4 * 1_000_000
        return look()

    monkeypatch.setattr(bench.clock, "monotonic_ns", slow_look)
    for _ in range(3):
        await bench.clock.advance(100)
        for router in (first, second):
            assert (await router.report()).last_error == ""


@pytest.mark.clause("REPORT-2")
async def test_a_restarted_worker_has_a_new_instance_and_counts_from_one(start: StartBench) -> None:
    instances = set()
    for _ in range(2):
        bench = await start()
        router = await bench.router()
        await router.register()
        report = await router.report()
        assert report.sequence_id == 1
        instances.add(report.source_instance_id)
    assert len(instances) == 2


@pytest.mark.clause("REPORT-3", "REPORT-5")
async def test_a_healthy_report_carries_every_rank_sorted_and_who_reports(start: StartBench) -> None:
    bench = await start(dp_size=3, worker_type="decode", model="m", zone="z")
    bench.source.ranks = [rank(2, waiting=7), rank(0), rank(1)]
    bench.source.stamp_ms = bench.clock.unix_ms() - 40
    router = await bench.router()
    await router.register()
    report = await router.report()
    assert report.status == Status.REPORT_STATUS_HEALTHY
    assert not report.HasField("last_error")
    assert [item.dp_rank for item in report.ranks] == [0, 1, 2]
    assert report.ranks[2].num_waiting_reqs == 7
    assert report.max_snapshot_age_ms == 40
    assert report.worker.worker_addr == "http://127.0.0.1:30000"
    assert report.worker.worker_type == WorkerType.WORKER_TYPE_DECODE
    assert (report.worker.model, report.worker.zone) == ("m", "z")


@pytest.mark.clause("REPORT-3")
async def test_a_failed_read_is_unreachable_without_ranks_and_the_next_good_one_healthy(bench: Bench) -> None:
    router = await bench.registered()
    bench.source.error = RuntimeError("scheduler gone")
    await bench.clock.advance(1_000)
    report = await router.report()
    assert report.status == Status.REPORT_STATUS_UNREACHABLE
    assert list(report.ranks) == []
    assert "scheduler gone" in report.last_error
    assert not report.HasField("max_snapshot_age_ms")
    bench.source.error = None
    await bench.clock.advance(1_000)
    assert (await router.report()).status == Status.REPORT_STATUS_HEALTHY


@pytest.mark.clause("REPORT-4")
@pytest.mark.parametrize(("age_ms", "status"), [(3_000, "HEALTHY"), (3_001, "STALE")])
async def test_a_report_is_stale_only_when_strictly_older_than_the_limit(
    bench: Bench, age_ms: int, status: str
) -> None:
    bench.source.stamp_ms = bench.clock.unix_ms() - age_ms
    router = await bench.router()
    await router.register()
    report = await router.report()
    assert Status.Name(report.status) == f"REPORT_STATUS_{status}"
    assert report.max_snapshot_age_ms == age_ms
    assert (report.last_error == "rank 0 stale by 1 ms") is (status == "STALE")
    assert len(report.ranks) == 1


@pytest.mark.clause("ACK-1", "ACK-2")
async def test_a_session_without_credit_skips_its_deadline_and_waits_for_the_next(bench: Bench) -> None:
    router = await bench.router()
    await router.register(interval_ms=100, window=2)
    assert (await router.report()).sequence_id == 1
    await bench.clock.advance(100)
    assert (await router.report()).sequence_id == 2
    await bench.clock.advance(300)
    assert bench.source.pulls == 2
    assert bench.reporter.counters.coalesced_reports == 3
    await bench.acknowledge(router, 1)
    await bench.clock.advance(50)
    assert bench.source.pulls == 2
    await bench.clock.advance(50)
    report = await router.report()
    assert report.sequence_id == 3
    assert report.report_time_unix_ms - bench.clock.wall_offset_ms == 500
    await bench.acknowledge(router, 3)
    for sequence_id in (4, 5):
        await bench.clock.advance(100)
        assert (await router.report()).sequence_id == sequence_id


@pytest.mark.clause("ACK-1", "ACK-2")
async def test_a_session_without_credit_gets_no_report_that_was_read_for_another(bench: Bench) -> None:
    withheld = await bench.registered("withheld", interval_ms=100, window=1)
    other = await bench.registered("other", interval_ms=100)
    await bench.clock.advance(100)
    first = await other.report()
    await bench.acknowledge(withheld, 1, "withheld")
    await bench.clock.advance(100)
    assert (await other.report()).sequence_id == first.sequence_id + 1
    assert (await withheld.report()).sequence_id == first.sequence_id + 1


@pytest.mark.clause("ACK-3")
async def test_acknowledging_a_report_that_was_never_sent_ends_the_stream(bench: Bench) -> None:
    router = await bench.registered(window=1)
    await router.keep_alive(acked=2)
    error = await router.ended()
    assert error is not None
    assert error.code == "INVALID_ARGUMENT"
    assert "acked_sequence_id=2" in error.message


@pytest.mark.clause("END-2")
async def test_closing_tells_every_router_also_one_that_has_not_registered(bench: Bench) -> None:
    registered = await bench.registered()
    silent = await bench.router()
    await silent.call.wait_for_connection()
    await bench.seen(lambda: bench.open_streams() == 2)
    await bench.reporter.close()
    for router in (registered, silent):
        error = await router.ended()
        assert error is not None
        assert error.code == "SHUTTING_DOWN"


@pytest.mark.clause("END-4")
async def test_a_frame_without_payload_is_refused(bench: Bench) -> None:
    router = await bench.registered()
    await router.send(RouterFrame())
    error = await router.ended()
    assert error is not None
    assert error.code == "INVALID_ARGUMENT"


@pytest.mark.clause("END-4")
async def test_bytes_that_are_no_frame_are_refused(bench: Bench) -> None:
    async with grpc.aio.insecure_channel(bench.reporter.address) as channel:
        garbage: grpc.aio.StreamStreamMultiCallable[bytes, WorkerFrame] = channel.stream_stream(
            MONITOR_METHOD, response_deserializer=WorkerFrame.FromString
        )
        router = Router(garbage())  # type: ignore[arg-type]
        await router.call.write(b"\x0a\xff\xff\xff")  # type: ignore[arg-type]
        error = await router.ended()
        assert error is not None
        assert error.code == "INVALID_ARGUMENT"


@pytest.mark.clause("END-4")
async def test_an_oversized_frame_ends_its_stream_only(bench: Bench) -> None:
    other = await bench.registered("other")
    router = await bench.router()
    await router.send(register("r" * 70_000))
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await router.ended()
    assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    await bench.seen(lambda: bench.open_streams() == 1)
    await bench.clock.advance(1_000)
    await other.report()
