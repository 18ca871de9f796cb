"""What a reporter measures of itself, and how Prometheus sees it."""

import asyncio
import subprocess
import sys
from collections.abc import Sequence

import pytest
from prometheus_client import REGISTRY, CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families
from worker_bench import Bench, StartBench, register

from loadmonitor_proto import RouterFrame, StopRequest, StreamErrorCode, WorkerFrame
from loadmonitor_worker import Histogram, RankSnapshot, WorkerState
from loadmonitor_worker._session import Session
from loadmonitor_worker.metrics import FAMILIES, make_registry, markdown_table
from loadmonitor_worker.testing import FakeSource, rank

REPORTS = "loadmonitor_worker_reports_total"


def exported(registry: CollectorRegistry) -> dict[tuple[str, str], float]:
    """Return every sample of a scrape by its name and the value of its label, if it has one."""
    found = {}
    for family in text_string_to_metric_families(generate_latest(registry).decode()):
        for sample in family.samples:
            found[sample.name, "".join(sample.labels.values())] = sample.value
    return found


async def test_every_family_of_the_table_is_exported_and_no_other(bench: Bench) -> None:
    bench.reporter.set_worker_state(WorkerState.SERVING)
    text = generate_latest(make_registry(bench.reporter)).decode()
    families = {family.name: family for family in text_string_to_metric_families(text)}
    assert list(families) == [family.name.removesuffix("_total") for family in FAMILIES]
    for family in FAMILIES:
        shown = families[family.name.removesuffix("_total")]
        assert (shown.type, shown.documentation) == (family.kind, family.help)
        labels = {name for sample in shown.samples for name in sample.labels} - {"le"}
        assert labels == ({family.label} if family.label else set())


async def test_reports_are_counted_by_status_once_for_each_router_they_are_handed_to(bench: Bench) -> None:
    registry = make_registry(bench.reporter)
    assert exported(registry)[REPORTS, "HEALTHY"] == 0
    await bench.registered("a")
    await bench.registered("b")
    bench.source.error = RuntimeError("gone")
    await bench.clock.advance(1_000)
    shown = exported(registry)
    assert {status: shown[REPORTS, status] for status in ("HEALTHY", "STALE", "UNREACHABLE")} == {
        "HEALTHY": 2,
        "STALE": 0,
        "UNREACHABLE": 2,
    }
    assert shown["loadmonitor_worker_fires_total", ""] == 3
    assert shown["loadmonitor_worker_sessions", ""] == 2


async def test_bytes_are_those_of_the_frames_that_were_written(bench: Bench) -> None:
    registry = make_registry(bench.reporter)
    router = await bench.router()
    await router.send(RouterFrame(register={"router_id": "r", "report_interval_ms": 1_000, "lease_ttl_ms": 9_000}))  # type: ignore[arg-type]
    frames = [await router.receive(), await router.receive()]
    written = sum(len(frame.SerializeToString()) for frame in frames)
    await bench.seen(lambda: exported(registry)["loadmonitor_worker_sent_bytes_total", ""] >= written)
    assert exported(registry)["loadmonitor_worker_sent_bytes_total", ""] == written
    assert all(isinstance(frame, WorkerFrame) for frame in frames)


async def test_a_router_that_is_behind_shows_as_unacknowledged_and_coalesced(bench: Bench) -> None:
    registry = make_registry(bench.reporter)
    router = await bench.registered(window=1)
    await bench.clock.advance(2_000)
    shown = exported(registry)
    assert shown["loadmonitor_worker_unacked_reports", ""] == 1
    assert shown["loadmonitor_worker_coalesced_reports_total", ""] == 2
    await bench.acknowledge(router, 1)
    assert exported(registry)["loadmonitor_worker_unacked_reports", ""] == 0


async def test_a_report_that_a_router_is_not_handed_is_coalesced_and_not_counted_as_handed(bench: Bench) -> None:
    registry = make_registry(bench.reporter)
    await bench.registered("behind", window=1)
    await bench.registered("reads on")
    await bench.clock.advance(1_000)
    shown = exported(registry)
    assert shown[REPORTS, "HEALTHY"] == 3
    assert shown["loadmonitor_worker_coalesced_reports_total", ""] == 1


async def test_the_length_of_reads_and_the_age_of_their_numbers_are_observed(bench: Bench) -> None:
    registry = make_registry(bench.reporter)
    await bench.registered()
    bench.source.gate.clear()
    await bench.clock.advance(1_000)
    bench.source.stamp_ms = bench.clock.unix_ms()
    await bench.clock.advance(300)
    bench.source.gate.set()
    await bench.clock.advance(0)
    shown = exported(registry)
    assert shown["loadmonitor_worker_pull_duration_seconds_count", ""] == 2
    assert shown["loadmonitor_worker_pull_duration_seconds_sum", ""] == pytest.approx(0.3)
    assert shown["loadmonitor_worker_pull_duration_seconds_bucket", "0.25"] == 1
    assert shown["loadmonitor_worker_pull_duration_seconds_bucket", "0.5"] == 2
    assert shown["loadmonitor_worker_snapshot_age_seconds_sum", ""] == pytest.approx(0.3)


class StubbornSource(FakeSource):
    """Ignores being cancelled while its gate is closed."""

    async def get_loads(self) -> Sequence[RankSnapshot]:
        while True:
            try:
                return await super().get_loads()
            except asyncio.CancelledError:
                if self.gate.is_set():
                    raise


async def test_a_read_that_hangs_shows_as_growing_ever_longer(start: StartBench) -> None:
    bench = await start(source_type=StubbornSource)
    bench.reporter.measure()
    await bench.registered(interval_ms=1_000)
    bench.source.gate.clear()
    for _ in range(4):
        await bench.clock.advance(1_000)
    measured = bench.reporter.measure()
    bench.source.gate.set()
    assert measured.reports["UNREACHABLE"] == 3
    # 1 s when its budget ends, then 2 s and 3 s.
    assert measured.pull_seconds.sum == 6
    assert measured.pull_seconds.counts[-3:] == [1, 1, 1]


async def test_a_loop_that_comes_late_to_a_deadline_shows_as_lag(bench: Bench) -> None:
    bench.reporter.measure()
    await bench.registered("a", interval_ms=1_000)
    await bench.registered("b", interval_ms=1_300)
    await bench.clock.advance(1_000)
    on_time = bench.reporter.measure().fire_lag_seconds
    await bench.clock.stall(1_400)
    late = bench.reporter.measure().fire_lag_seconds
    assert (on_time.sum, sum(on_time.counts)) == (0, 3)
    assert late.sum == pytest.approx(1.1)  # of the one that was due at 1.3 s; the other's deadline was at 2 s
    assert sum(late.counts) == 4


async def test_what_becomes_of_sessions_is_counted(bench: Bench) -> None:
    registry = make_registry(bench.reporter)

    def events() -> dict[str, float]:
        return {
            label: value
            for (name, label), value in exported(registry).items()
            if name == "loadmonitor_worker_session_events_total"
        }

    assert set(events().values()) == {0}
    stops = await bench.registered("stops")
    await stops.send(RouterFrame(stop=StopRequest()))
    assert await stops.ended() is None
    lost = await bench.registered("lost")
    lost.call.cancel()
    old = await bench.registered("twice")
    await bench.registered("twice")
    await old.ended()
    await bench.registered("silent", lease_ms=500)
    await bench.seen(lambda: bench.reporter._server._table.holder("lost") is None)
    await bench.clock.advance(1_000)
    assert events() == {
        "registered": 5, "stopped": 1, "lost": 1, "replaced": 1, "lease_expired": 1, "shut_down": 0,
    }  # fmt: skip


async def test_a_stream_that_ended_is_not_counted_again_when_the_reporter_closes(bench: Bench) -> None:
    monitor = bench.reporter._server._monitor
    session = Session(on_ready=lambda: None)
    monitor.stream_opened(session)  # and never closed: as of a router that doesn't read on
    monitor.frame(session, register("r"), 0)
    monitor.fail(session, StreamErrorCode.LEASE_EXPIRED, "late")
    await bench.reporter.close()
    events = bench.reporter.measure().session_events
    assert (events["lease_expired"], events["shut_down"]) == (1, 0)


async def test_refused_streams_are_counted_by_code(bench: Bench) -> None:
    registry = make_registry(bench.reporter)
    for frame in (RouterFrame(), RouterFrame(stop=StopRequest()), RouterFrame(stop=StopRequest())):
        router = await bench.router()
        await router.send(frame)
        await router.ended()
    shown = exported(registry)
    refused = {
        code: shown["loadmonitor_worker_refused_total", code] for code in ("INVALID_ARGUMENT", "INVALID_FIRST_FRAME")
    }
    assert refused == {"INVALID_ARGUMENT": 1, "INVALID_FIRST_FRAME": 2}
    assert shown["loadmonitor_worker_session_events_total", "lost"] == 0


async def test_clamped_values_are_counted(start: StartBench) -> None:
    bench = await start(overshoot="clamp")
    bench.source.ranks = [rank(running=5_000)]
    registry = make_registry(bench.reporter)
    await bench.registered()
    assert exported(registry)["loadmonitor_worker_clamped_values_total", ""] == 2


async def test_the_state_has_one_series_a_state_and_none_while_it_is_not_known(bench: Bench) -> None:
    registry = make_registry(bench.reporter)
    name = "loadmonitor_worker_state"
    assert not [sample for sample in exported(registry) if sample[0] == name]
    bench.reporter.set_worker_state(WorkerState.DRAINING)
    shown = exported(registry)
    states = {label: value for (found, label), value in shown.items() if found == name}
    assert states == {"loading": 0, "serving": 0, "draining": 1, "paused": 0}


async def test_the_registry_is_its_own(bench: Bench) -> None:
    before = set(REGISTRY._names_to_collectors)
    first, second = make_registry(bench.reporter), make_registry(bench.reporter)
    assert exported(first) == exported(second)
    assert set(REGISTRY._names_to_collectors) == before
    assert not [name for name, _ in exported(first) if name.startswith(("python_", "process_"))]


async def test_nothing_is_measured_before_somebody_asks(bench: Bench) -> None:
    await bench.registered()
    assert bench.reporter._server._fire_loop.meter is None
    assert bench.reporter._server._servicer.meter is None
    measured = bench.reporter.measure()
    assert (measured.fires, measured.sessions) == (1, 1)
    assert (sum(measured.reports.values()), measured.sent_bytes, sum(measured.pull_seconds.counts)) == (0, 0, 0)


def test_without_its_extra_the_table_can_be_had_and_the_registry_says_what_to_install() -> None:
    program = """
import sys
sys.modules["prometheus_client"] = None
import importlib.util
importlib.util.find_spec = lambda name: None
from loadmonitor_worker import MissingExtraError
from loadmonitor_worker.metrics import make_registry, markdown_table
assert "loadmonitor_worker_fires_total" in markdown_table()
assert "grpc" not in sys.modules
try:
    make_registry(None)
except MissingExtraError as error:
    print(error)
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=30)
    expected = "exporting metrics needs an optional dependency: pip install 'loadmonitor-worker[prometheus]'\n"
    assert run.stdout == expected, run.stderr


def test_a_histogram_puts_a_bound_into_the_bucket_it_closes() -> None:
    histogram = Histogram((1.0, 2.0))
    for value in (0.5, 1.0, 1.5, 2.0, 9.0):
        histogram.observe(value)
    assert (histogram.counts, histogram.sum) == ([2, 2, 1], 14.0)


def test_the_table_has_a_row_for_each_family() -> None:
    rows = markdown_table().splitlines()[2:]
    assert [row.split("`")[1] for row in rows] == [family.name for family in FAMILIES]
