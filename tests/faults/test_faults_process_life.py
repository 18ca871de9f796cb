"""What a process may do to itself: fork, exit with streams open, run several event loops, stop a server amid an opening stream."""

import asyncio
import gc
import json
import logging
import sys

import pytest
from case import Case
from processes import HERE, Process, Router, Worker

from loadmonitor_router import Connection, LoadMonitor, MonitorClient, WorkerTarget
from loadmonitor_worker import ReporterConfig, start_load_reporter
from loadmonitor_worker.sources import SyntheticSource

pytestmark = pytest.mark.timeout(180)

FORKED = "ForkedProcessError"
NOBODY = "127.0.0.1:9"


async def forked(mode: str, address: str) -> dict[str, str]:
    """Run fork_program.py; return what its halves told."""
    told: dict[str, str] = {}
    async with Process.run(sys.executable, str(HERE / "fork_program.py"), mode, address, may_complain=True) as program:
        assert await program.ends() == 0, program.errors
        while (line := await program.line_or_end()) is not None:
            told[json.loads(line)["who"]] = json.loads(line)["said"]
    return told


@pytest.mark.fault("fork while a stream is open, the child tries to use gRPC")
async def test_a_child_forked_amid_a_stream_gets_a_typed_error_and_the_parent_goes_on(case: Case) -> None:
    async with Worker.telling() as worker:
        case.happens("the parent forks by multiprocessing; the child opens a client, a monitor and a reporter")
        async with case.outcome(
            router=f"child: {FORKED} thrice; parent: the same stream goes on", worker="one session", within=50
        ):
            assert await forked("open", worker.address) == {
                "child: watch": FORKED,
                "child: watch_fleet": FORKED,
                "child: report": FORKED,
                "child's exit code": "0",
                "parent": "reconnects: 0",
            }


@pytest.mark.fault("fork while a stream is open, the child goes on with the parent's client")
async def test_a_child_can_neither_use_nor_end_the_parents_stream(case: Case) -> None:
    async with Worker.telling() as worker:
        case.happens("the parent forks by multiprocessing; the child iterates and closes the parent's client")
        async with case.outcome(
            router=f"child: {FORKED}; parent: the same stream goes on", worker="one session", within=50
        ):
            assert await forked("iterate", worker.address) == {
                "child: the parent's client": FORKED,
                "child's exit code": "0",
                "parent": "reconnects: 0",
            }


@pytest.mark.fault("fork while a reporter serves")
async def test_a_child_forked_by_an_engine_gets_a_typed_error_and_the_reporter_goes_on(case: Case) -> None:
    case.happens("the engine forks by multiprocessing; the child opens a client, a monitor and a reporter")
    async with case.outcome(worker=f"child: {FORKED} thrice; parent: its reporter still serves", within=50):
        assert await forked("reporting", "-") == {
            "child: watch": FORKED,
            "child: watch_fleet": FORKED,
            "child: report": FORKED,
            "child's exit code": "0",
            "parent": "reports",
        }


@pytest.mark.fault("fork after everything was closed")
async def test_a_child_forked_after_use_works(case: Case) -> None:
    async with Worker.telling() as worker:
        case.happens("the parent uses both sides, closes them, and forks by multiprocessing")
        async with case.outcome(
            router="child: reports, fresh; parent: reports", worker="child: its own reporter serves", within=50
        ):
            assert await forked("closed", worker.address) == {
                "child: watch": "reports",
                "child: watch_fleet": "fresh",
                "child: report": "reports",
                "child's exit code": "0",
                "parent": "reports",
            }


@pytest.mark.parametrize(
    "mode",
    [
        pytest.param("coroutine", marks=pytest.mark.fault("sys.exit in a coroutine with a stream open")),
        pytest.param(
            "thread", marks=pytest.mark.fault("the interpreter exits while a daemon thread has a stream open")
        ),
    ],
)
async def test_an_interpreter_exits_with_a_stream_open(case: Case, mode: str) -> None:
    async with (
        Worker.telling() as worker,
        Process.run(sys.executable, str(HERE / "exit_program.py"), mode, worker.address) as program,
    ):
        async with asyncio.timeout(30):
            assert await program.line() == "open"
        case.happens("exit")
        async with case.outcome(router="the process ends with its exit code", within=15):
            assert await program.ends() == 3
        await case.worker_says(worker, streams=0, within=15)


@pytest.mark.fault("the interpreter exits while it dials a port where nobody listens")
async def test_an_interpreter_exits_while_it_dials(case: Case) -> None:
    async with Process.run(sys.executable, str(HERE / "exit_program.py"), "dialling", NOBODY) as program:
        async with asyncio.timeout(30):
            assert await program.line() == "open"
        case.happens("exit")
        async with case.outcome(router="the process ends with its exit code", within=15):
            assert await program.ends() == 3


@pytest.mark.fault("asyncio.run returns without leaving what is open")
async def test_programs_that_leave_everything_open_end_all_the_same(case: Case) -> None:
    async with Worker.telling(may_complain=True) as worker, Router.watching(worker.address) as router:
        await router.starts()
        case.happens("the router's main() returns")
        await router.order("leave")
        async with case.outcome(router="the process ends with exit code 0", within=15):
            assert await router.ends() == 0
        await case.worker_says(worker, streams=0, within=15)
        async with Router.watching(worker.address) as second:
            await second.starts()
            case.happens("the worker's main() returns")
            await worker.order("leave")
            await case.router_says(second, "missing", "UNAVAILABLE", within=15)
            async with case.outcome(
                worker="the process ends with exit code 0; gRPC's server complains that its loop is closed", within=15
            ):
                assert await worker.ends() == 0


async def serve_and_watch(client: MonitorClient, monitor: LoadMonitor, address: str) -> str:
    """Watch a worker with both, beside a reporter on the same event loop."""
    reporter = await start_load_reporter(ReporterConfig(port=0), SyntheticSource(1))
    assert reporter is not None
    async with asyncio.timeout(40), reporter, client, monitor:
        monitor.reconcile(
            [
                WorkerTarget(url="http://own:1", reporter=reporter.address),
                WorkerTarget(url="http://other:1", reporter=address),
            ]
        )
        for _ in range(20):
            await anext(client)
        while not all(load.freshness == "fresh" for load in monitor.snapshot().workers.values()):
            await monitor.changed(monitor.snapshot().version)
        for report in range(3):
            await monitor.changed(monitor.snapshot().version)
            assert report >= 0
    return "fresh"


def users(name: str, address: str) -> tuple[MonitorClient, LoadMonitor]:
    """Return a client and a monitor that no loop has seen."""
    return (
        MonitorClient(address, router_id=f"{name}-client", report_interval_ms=20),
        LoadMonitor(router_id=f"{name}-monitor", report_interval_ms=50),
    )


@pytest.mark.fault("two event loops in turn")
async def test_a_client_a_monitor_and_a_reporter_work_on_one_loop_after_the_other(
    case: Case, caplog: pytest.LogCaptureFixture
) -> None:
    async with Worker.serving() as worker:
        client, monitor = users("r", worker.address)
        case.happens("asyncio.run twice with the same client and monitor")
        async with case.outcome(router="fresh on both", worker="a reporter on each serves", within=50):
            for _ in range(2):
                said = await asyncio.to_thread(asyncio.run, serve_and_watch(client, monitor, worker.address))
                assert said == "fresh"
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


@pytest.mark.fault("two event loops at once, in two threads")
async def test_two_loops_at_once_do_not_disturb_each_other(case: Case, caplog: pytest.LogCaptureFixture) -> None:
    async with Worker.serving() as worker:
        case.happens("asyncio.run in two threads at once")
        async with case.outcome(router="fresh on both", worker="a reporter on each serves", within=50):
            said = await asyncio.gather(
                *(
                    asyncio.to_thread(asyncio.run, serve_and_watch(*users(name, worker.address), worker.address))
                    for name in ("one", "two")
                )
            )
            assert said == ["fresh", "fresh"]
    # grpc.aio logs this one, harmless, when several loops share its thread; ours there must be none.
    errors = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert [record for record in errors if record.exc_info is None or record.exc_info[0] is not BlockingIOError] == []


@pytest.mark.fault("the worker's server stops while streams open")
async def test_a_server_that_stops_amid_an_opening_stream_leaves_nobody_waiting(
    case: Case, caplog: pytest.LogCaptureFixture
) -> None:
    async def others() -> set[asyncio.Task[object]]:
        return asyncio.all_tasks() - {asyncio.current_task()}

    before = await others()
    case.happens("close() at 20 different moments of 3 openings each")
    async with case.outcome(
        router="missing: …SHUTTING_DOWN…, …UNAVAILABLE… or …CANCELLED…",
        worker="closed within 4 s each; streams: 0",
        within=55,
    ):
        for moment in range(20):
            reporter = await start_load_reporter(ReporterConfig(port=0), SyntheticSource(1))
            assert reporter is not None
            changes: asyncio.Queue[Connection] = asyncio.Queue()
            clients = [
                MonitorClient(reporter.address, router_id=f"r{number}", on_connection=changes.put_nowait)
                for number in range(3)
            ]
            for client in clients:
                await client.__aenter__()
            for _ in range(moment):
                await asyncio.sleep(0.001)
            async with asyncio.timeout(4):
                await reporter.close()
            for client in clients:
                while client.connection.last_error is None:
                    await changes.get()
                assert (client.connection.last_error or "").startswith(("SHUTTING_DOWN", "UNAVAILABLE", "CANCELLED")), (
                    moment
                )
                await client.close()
            assert not reporter._server._monitor._table.open_streams
    gc.collect()
    await asyncio.sleep(0)
    assert await others() == before
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []
