"""Starting, failing to start, ending; and that nothing which a request does reaches the source."""

import argparse
import asyncio
import socket
import subprocess
import sys
from typing import Any

import grpc.aio
import pytest
from worker_bench import Bench, StartBench

from loadmonitor_proto import ReportStatus as Status
from loadmonitor_worker import (
    BindError,
    ConfigError,
    LoadReporterError,
    ReporterConfig,
    WorkerType,
    add_cli_args,
    start_load_reporter,
)
from loadmonitor_worker.testing import FakeSource, ManualClock, rank, settle


def test_switched_off_it_returns_none_and_imports_neither_grpc_nor_protobuf() -> None:
    program = """
import asyncio, sys
from loadmonitor_worker import ReporterConfig, start_load_reporter
assert asyncio.run(start_load_reporter(ReporterConfig(port=None), None)) is None
heavy = sorted(name for name in sys.modules if name.split(".")[0] in ("grpc", "google", "loadmonitor_proto"))
assert not heavy, heavy
print("nothing imported")
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=30)
    assert run.stdout == "nothing imported\n", run.stderr


async def test_reporting_without_a_source_is_refused() -> None:
    with pytest.raises(ConfigError, match="without a source"):
        await start_load_reporter(ReporterConfig(port=0), None)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"port": 65_536}, "port=65536"),
        ({"port": -1}, "port=-1"),
        ({"port": True}, "port=True"),
        ({"port": "50061"}, "port='50061'"),
        ({"host": " "}, "host=' '"),
        ({"stale_after_ms": 0}, "stale_after_ms=0"),
        ({"min_report_interval_ms": 0}, "min_report_interval_ms=0"),
        ({"max_lease_ttl_ms": 1}, "max_lease_ttl_ms=1"),
        ({"max_sessions": 0}, "max_sessions=0"),
        ({"pull_budget_ms": 0.5}, "pull_budget_ms=0.5"),
        ({"overshoot": "cap"}, "overshoot='cap'"),
        ({"alignment": "phase"}, "alignment='phase'"),
        ({"max_frames_per_second": 0}, "max_frames_per_second=0"),
        ({"worker_type": "draft"}, "regular, prefill, decode"),
    ],
)
def test_a_setting_out_of_range_is_refused_by_name(settings: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigError, match=r"allowed|blank|TCP") as caught:
        ReporterConfig(**{"port": 0} | settings)
    assert named in str(caught.value)


def test_the_worker_type_may_be_given_as_text() -> None:
    assert ReporterConfig(port=0, worker_type="prefill").worker_type is WorkerType.PREFILL  # type: ignore[arg-type]


async def test_text_that_utf8_cannot_carry_is_refused_before_anything_starts() -> None:
    clock = ManualClock()
    with pytest.raises(ConfigError, match="UTF-8"):
        await start_load_reporter(ReporterConfig(port=0, model="\ud800"), FakeSource(clock), clock=clock)


async def test_two_workers_cannot_share_a_port(bench: Bench) -> None:
    host, _, port = bench.reporter.address.rpartition(":")
    before = asyncio.all_tasks()
    with pytest.raises(BindError, match="another process listens on that port") as caught:
        await start_load_reporter(ReporterConfig(port=int(port), host=host), bench.source, clock=bench.clock)
    assert caught.value.address == bench.reporter.address
    assert asyncio.all_tasks() == before


async def test_even_a_listener_that_shares_ports_is_not_joined(start: StartBench) -> None:
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(BindError):
            await start(port=taken.getsockname()[1])


async def test_nobody_can_join_the_port_of_a_running_reporter(bench: Bench) -> None:
    host, _, port = bench.reporter.address.rpartition(":")
    with socket.socket() as joiner:
        joiner.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        with pytest.raises(OSError, match="Address already in use"):
            joiner.bind((host, int(port)))


@pytest.mark.parametrize(("host", "reason"), [("192.0.2.1", "no interface"), ("host.invalid", "no address")])
async def test_an_address_that_is_not_ours_is_refused_with_the_reason(
    start: StartBench, host: str, reason: str
) -> None:
    with pytest.raises(BindError, match=reason):
        await start(host=host)


async def test_it_listens_on_ipv6_in_brackets(start: StartBench) -> None:
    bench = await start(host="::1")
    assert bench.reporter.address.startswith("[::1]:")
    await bench.registered()


async def test_closing_frees_the_port_and_is_harmless_when_repeated(start: StartBench) -> None:
    bench = await start()
    port = int(bench.reporter.address.rpartition(":")[2])
    await asyncio.gather(bench.reporter.close(), bench.reporter.close())
    await bench.reporter.close()
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", port))
    assert bench.clock.pending == []


async def test_closing_aborts_a_pull_in_flight(bench: Bench) -> None:
    bench.source.gate.clear()
    router = await bench.router()
    await router.register()
    await bench.seen(lambda: bench.source.pulls == 1)
    await bench.reporter.close()
    error = await router.ended()
    assert error is not None
    assert error.code == "SHUTTING_DOWN"


async def test_a_cancelled_caller_does_not_stop_the_shutdown(bench: Bench) -> None:
    router = await bench.registered()
    closing = asyncio.create_task(bench.reporter.close())
    await asyncio.sleep(0)
    closing.cancel()
    error = await router.ended()
    assert error is not None
    assert error.code == "SHUTTING_DOWN"
    await bench.reporter.close()


async def test_a_router_that_vanishes_leaves_no_stream_and_no_timer(bench: Bench) -> None:
    router = await bench.registered()
    router.call.cancel()
    await bench.seen(lambda: bench.open_streams() == 0)
    await settle()
    assert bench.clock.pending == []


async def test_nothing_is_read_and_no_timer_runs_while_no_router_is_registered(bench: Bench) -> None:
    await bench.router()
    await bench.clock.advance(60_000)
    assert bench.source.pulls == 0
    assert bench.clock.pending == []


async def test_a_change_of_the_rank_set_reads_nothing_and_binds_the_next_report(bench: Bench) -> None:
    router = await bench.registered()
    bench.reporter.update_expected_dp_ranks([0, 1])
    await settle()
    assert bench.source.pulls == 1
    await bench.clock.advance(1_000)
    report = await router.report()
    assert report.status == Status.REPORT_STATUS_UNREACHABLE
    assert report.last_error == "rank 1 missing of the 2 expected ranks"
    bench.source.ranks = [rank(0), rank(1)]
    await bench.clock.advance(1_000)
    assert len((await router.report()).ranks) == 2


@pytest.mark.parametrize("ranks", [[], [-1], [True], ["0"]])
async def test_a_rank_set_that_cannot_be_is_refused(bench: Bench, ranks: list[Any]) -> None:
    with pytest.raises(ConfigError, match="dp_ranks="):
        bench.reporter.update_expected_dp_ranks(ranks)


async def test_requests_never_reach_the_source() -> None:
    """An engine that dispatches, completes and aborts while it reports is read at deadlines only."""

    class Engine(FakeSource):
        """Counts its running requests itself; the reporter holds no hook into any of this."""

        def dispatch(self) -> None:
            self.ranks = [rank(running=self.ranks[0].num_running_reqs + 1)]

        def finish_or_abort(self) -> None:
            self.ranks = [rank(running=self.ranks[0].num_running_reqs - 1)]

    clock = ManualClock()
    engine = Engine(clock)
    reporter = await start_load_reporter(ReporterConfig(port=0), engine, clock=clock)
    assert reporter is not None
    async with reporter:
        channel = grpc.aio.insecure_channel(reporter.address)
        async with channel:
            from worker_bench import Router

            from loadmonitor_proto.service import LoadMonitorStub

            router = Router(LoadMonitorStub(channel).Monitor())
            await router.register(interval_ms=500)
            await router.report()
            for _ in range(100):
                engine.dispatch()
                await settle()
                engine.finish_or_abort()
            assert engine.pulls == 1
            engine.dispatch()
            await clock.advance(500)
            assert (await router.report()).ranks[0].num_running_reqs == 2
            assert engine.pulls == 2


async def test_values_above_capacity_are_capped_and_counted_where_that_is_asked_for(start: StartBench) -> None:
    bench = await start(overshoot="clamp")
    bench.source.ranks = [rank(running=2_000)]
    router = await bench.router()
    await router.register()
    assert (await router.report()).ranks[0].num_running_reqs == 1_000
    assert bench.reporter.counters.clamped_values == 2


@pytest.mark.parametrize("text", ["65536", "-1", "x", "", "1.5"])
def test_the_flag_refuses_what_is_no_port(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    add_cli_args(parser)
    with pytest.raises(SystemExit) as caught:
        parser.parse_args([f"--load-reporter-port={text}"])
    assert caught.value.code == 2
    assert "is not a TCP port" in capsys.readouterr().err


def test_the_flags_feed_the_configuration() -> None:
    parser = argparse.ArgumentParser()
    add_cli_args(parser)
    off = parser.parse_args([])
    assert ReporterConfig(port=off.load_reporter_port, host=off.load_reporter_host).port is None
    on = parser.parse_args(["--load-reporter-port", "50061", "--load-reporter-host", "0.0.0.0"])
    assert (on.load_reporter_port, on.load_reporter_host) == (50_061, "0.0.0.0")


def test_every_error_has_the_one_base() -> None:
    assert issubclass(BindError, (LoadReporterError, OSError))
    assert issubclass(ConfigError, (LoadReporterError, ValueError))
