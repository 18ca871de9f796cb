"""`OpenRcaService/StreamCoreMetrics` on the reporter's port: who is told when, and what each end of a stream does."""

import asyncio
from dataclasses import replace
from pathlib import Path

import grpc
import grpc.aio
import pytest
from certificates import Authority
from worker_bench import WAIT_SECONDS, Bench, StartBench
from worker_process import running

from loadmonitor_worker import ServingModeError, WorkerState
from loadmonitor_worker._orca import AVOIDED_UTILIZATION, _Report, _Request

METHOD = "/xds.service.orca.v3.OpenRcaService/StreamCoreMetrics"


class OrcaStream:
    """One call of a client."""

    def __init__(self, address: str, request: bytes, tls: grpc.ChannelCredentials | None = None) -> None:
        options = [("grpc.use_local_subchannel_pool", 1)]
        if tls is None:
            self._channel = grpc.aio.insecure_channel(address, options=options)
        else:
            self._channel = grpc.aio.secure_channel(address, tls, options=options)
        method: grpc.aio.UnaryStreamMultiCallable[bytes, bytes] = self._channel.unary_stream(METHOD)
        self.call = method(request)

    async def close(self) -> None:
        await self._channel.close()

    async def report(self) -> dict[str, float]:
        """Return the next report: its named metrics, and its utilization where it has one."""
        async with asyncio.timeout(WAIT_SECONDS):
            message = await self.call.read()
        assert isinstance(message, bytes), "the stream ended"
        report = _Report.FromString(message)
        return dict(report.named_metrics) | {field.name: value for field, value in report.ListFields()}

    async def failed(self) -> tuple[grpc.StatusCode, str]:
        """Wait for the end of the stream."""
        async with asyncio.timeout(WAIT_SECONDS):
            return await self.call.code(), await self.call.details()


def orca_streams(bench: Bench) -> int:
    return len(bench.reporter._server._table.orca)


async def subscribed(bench: Bench, interval_ms: int = 1_000, address: str | None = None) -> OrcaStream:
    request = _Request(report_interval={"seconds": interval_ms // 1_000, "nanos": interval_ms % 1_000 * 1_000_000})
    stream = OrcaStream(address or bench.reporter.address, request.SerializeToString())
    bench.stack.push_async_callback(stream.close)
    return stream


async def test_the_first_report_comes_at_once_and_the_next_at_each_interval(start: StartBench) -> None:
    bench = await start(orca=True)
    stream = await subscribed(bench, 2_000)
    assert (await stream.report())["sequence_id"] == 1
    await bench.clock.advance(1_999)
    assert bench.source.pulls == 1
    for sequence_id in (2, 3):
        await bench.clock.advance(2_000)
        assert (await stream.report())["sequence_id"] == sequence_id


async def test_an_interval_below_the_least_is_raised_to_it(start: StartBench) -> None:
    bench = await start(orca=True, orca_min_interval_ms=500)
    streams = [await subscribed(bench, interval_ms) for interval_ms in (0, 10)]
    for stream in streams:
        await stream.report()
    pulls = bench.source.pulls
    await bench.clock.advance(499)
    assert bench.source.pulls == pulls
    await bench.clock.advance(1)
    for stream in streams:
        await stream.report()


async def test_an_orca_client_and_a_router_that_are_due_together_share_one_read_and_one_number(
    start: StartBench,
) -> None:
    bench = await start(orca=True, alignment="epoch")
    router = await bench.registered(interval_ms=1_000)
    await bench.clock.advance(300)
    stream = await subscribed(bench, 1_000)
    await stream.report()
    pulls = bench.source.pulls
    await bench.clock.advance(700)
    report = await router.report()
    assert (await stream.report())["sequence_id"] == report.sequence_id
    assert bench.source.pulls == pulls + 1
    assert report.active_routers == 1  # an ORCA client is no router


async def test_a_client_that_comes_during_a_read_gets_its_report(start: StartBench) -> None:
    bench = await start(orca=True)
    bench.source.gate.clear()
    first = await subscribed(bench)
    await bench.seen(lambda: bench.source.pulls == 1)
    second = await subscribed(bench)
    await bench.seen(lambda: orca_streams(bench) == 2)
    bench.source.gate.set()
    assert (await first.report())["sequence_id"] == (await second.report())["sequence_id"] == 1
    assert bench.source.pulls == 1


async def test_a_stale_and_an_unreachable_engine_never_tell_old_numbers_again(start: StartBench) -> None:
    bench = await start(orca=True)
    stream = await subscribed(bench)
    assert (await stream.report())["application_utilization"] == 0.01
    bench.source.stamp_ms = bench.clock.unix_ms() - 60_000
    await bench.clock.advance(1_000)
    stale = await stream.report()
    assert (stale["status"], stale["snapshot_age_ms"]) == (2, 61_000)
    bench.source.error = RuntimeError("gone")
    await bench.clock.advance(1_000)
    unreachable = await stream.report()
    assert unreachable["status"] == 3
    for report in (stale, unreachable):
        assert not report.keys() & {"application_utilization", "mem_utilization", "rps_fractional", "num_running_reqs"}
    bench.source.error, bench.source.stamp_ms = None, None
    bench.source.ranks = [replace(bench.source.ranks[0], num_running_reqs=500)]
    await bench.clock.advance(1_000)
    assert (await stream.report())["application_utilization"] == 0.5


async def test_a_changed_state_is_told_at_once_and_a_drain_waits_until_it_was(start: StartBench) -> None:
    bench = await start(orca=True)
    bench.source.ranks = [replace(bench.source.ranks[0], num_running_reqs=0)]
    stream = await subscribed(bench, 60_000)
    await stream.report()
    draining = asyncio.create_task(bench.reporter.drain(30))
    report = await stream.report()
    assert (report["application_utilization"], report["worker_state"]) == (AVOIDED_UTILIZATION, 3)
    while not draining.done():
        await bench.clock.advance(200)
    assert (await draining).idle
    code, words = await stream.failed()
    assert (code, words) == (grpc.StatusCode.UNAVAILABLE, "the load reporter of this worker is closed")


async def test_a_client_that_leaves_is_read_for_no_more(start: StartBench, caplog: pytest.LogCaptureFixture) -> None:
    bench = await start(orca=True)
    stream = await subscribed(bench)
    await stream.report()
    stream.call.cancel()
    await bench.seen(lambda: orca_streams(bench) == 0)
    await bench.clock.advance(10_000)
    assert (bench.source.pulls, bench.clock.pending) == (1, [])
    assert not caplog.records


async def test_a_client_that_reads_nothing_holds_a_drain_up_and_is_forgotten_when_it_leaves(
    start: StartBench, caplog: pytest.LogCaptureFixture
) -> None:
    bench = await start(1_000, orca=True)
    bench.source.ranks = [replace(rank, num_running_reqs=0) for rank in bench.source.ranks]
    stream = await subscribed(bench)
    await bench.seen(lambda: orca_streams(bench) == 1)
    [session] = bench.reporter._server._table.orca
    waited = 0
    for _ in range(400):  # until a report stays in its slot: gRPC takes no more
        await bench.clock.advance(1_000)
        waited = waited + 1 if session._report is not None else 0
        if waited == 50:
            break
        await asyncio.sleep(0.002 if waited else 0)
    assert session._report is not None
    bench.reporter.set_worker_state(WorkerState.DRAINING)
    waiting = asyncio.create_task(bench.reporter.wait_until_idle(5))
    await bench.clock.advance(5_000)
    assert (await waiting).reason == f"router 'ORCA client {session.peer}' may not know the state yet"
    await stream.close()
    await bench.seen(lambda: orca_streams(bench) == 0)
    assert not caplog.records


async def test_where_it_is_not_switched_on_the_service_is_not_there(bench: Bench) -> None:
    code, _ = await (await subscribed(bench)).failed()
    assert code is grpc.StatusCode.UNIMPLEMENTED


async def test_one_client_too_many_is_told_so_and_may_come_again(start: StartBench) -> None:
    bench = await start(orca=True, max_sessions=2)
    streams = [await subscribed(bench) for _ in range(2)]
    for stream in streams:
        await stream.report()
    code, words = await (await subscribed(bench)).failed()
    assert (code, words) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "2 ORCA streams are open, as many as may")
    await bench.registered()  # routers have their own places
    measured = bench.reporter.measure()
    assert (measured.orca_streams, measured.sessions) == (2, 1)
    streams[0].call.cancel()
    await bench.seen(lambda: orca_streams(bench) == 1)
    await (await subscribed(bench)).report()


async def test_a_request_that_is_none_is_refused_in_words(start: StartBench) -> None:
    bench = await start(orca=True)
    stream = OrcaStream(bench.reporter.address, b"\xff")
    bench.stack.push_async_callback(stream.close)
    code, words = await stream.failed()
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    assert words.startswith("the request is not an OrcaLoadReportRequest")
    assert orca_streams(bench) == 0


async def test_another_server_serves_it_too_and_answers_unavailable_once_the_reporter_is_closed(bench: Bench) -> None:
    server = grpc.aio.server()
    port = server.add_insecure_port("127.0.0.1:0")
    bench.reporter.add_orca_service(server)
    await server.start()
    bench.stack.push_async_callback(server.stop, None)
    address = f"127.0.0.1:{port}"
    stream = await subscribed(bench, address=address)
    assert (await stream.report())["status"] == 1
    await bench.reporter.close()
    late = await subscribed(bench, address=address)
    for call in (stream, late):
        assert (await call.failed())[0] is grpc.StatusCode.UNAVAILABLE
    assert orca_streams(bench) == 0


async def test_a_server_of_another_event_loop_is_refused(bench: Bench) -> None:
    async def elsewhere() -> None:
        bench.reporter.add_orca_service(grpc.aio.server())

    with pytest.raises(ServingModeError, match="another event loop"):
        await asyncio.to_thread(asyncio.run, elsewhere())


async def test_the_generated_messages_of_another_package_may_be_in_the_default_pool(start: StartBench) -> None:
    from google.protobuf import descriptor_pb2, descriptor_pool

    file = descriptor_pb2.FileDescriptorProto(
        name="xds/data/orca/v3/orca_load_report.proto", package="xds.data.orca.v3"
    )
    file.message_type.add(name="OrcaLoadReport").field.add(name="other", number=7, type=3, label=1)
    descriptor_pool.Default().Add(file)
    bench = await start(orca=True)
    assert (await (await subscribed(bench)).report())["status"] == 1


async def test_serve_has_it_when_asked_to() -> None:
    options = ("--source", "synthetic", "--port", "0", "--orca", "--orca-min-interval-ms", "20")
    async with running("serve", *options) as (_, line):
        stream = OrcaStream(line.removeprefix("listening on "), b"")
        try:
            assert [(await stream.report())["sequence_id"] for _ in range(3)] == [1, 2, 3]
        finally:
            await stream.close()


async def test_only_a_client_ca_guards_orca_and_neither_tokens_nor_ids_by_certificate_do(
    start: StartBench, tmp_path: Path
) -> None:
    authority, token_file = Authority(tmp_path / "ca"), tmp_path / "tokens"
    token_file.write_text("of-this-test")
    worker, client = authority.issue("worker"), authority.issue("client", "client.example")
    bench = await start(
        orca=True,
        auth_token_file=token_file,
        tls_cert_file=worker.cert,
        tls_key_file=worker.key,
        tls_client_ca_file=authority.ca_file,
        allow_router=("router.example=r",),
    )
    ca = authority.ca_file.read_bytes()
    certified = grpc.ssl_channel_credentials(ca, client.key.read_bytes(), client.cert.read_bytes())
    for tls in (certified, grpc.ssl_channel_credentials(ca)):
        stream = OrcaStream(bench.reporter.address, b"", tls)
        bench.stack.push_async_callback(stream.close)
        if tls is certified:
            assert "application_utilization" in await stream.report()
        else:
            assert (await stream.failed())[0] is grpc.StatusCode.UNAVAILABLE
