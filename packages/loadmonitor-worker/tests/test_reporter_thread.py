"""A reporter on its own thread: what the starter learns, who stalls whom, forks, and the interpreter's exit."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import grpc
import pytest
from worker_bench import register

from loadmonitor_proto import RouterFrame, WorkerFrame
from loadmonitor_proto.service import MONITOR_METHOD
from loadmonitor_worker import (
    BindError,
    ConfigError,
    LoadReporter,
    RankSnapshot,
    ReporterConfig,
    ServingModeError,
)
from loadmonitor_worker.integrations import ReporterThread
from loadmonitor_worker.interfaces import LoadSnapshotSource
from loadmonitor_worker.sources import CallableSource, SyntheticSource

WAIT_SECONDS = 40
ON = ReporterConfig(port=0)


def synthetic() -> SyntheticSource:
    return SyntheticSource(1)


class Failing(SyntheticSource):
    """Raises what it is given, and notes on which thread it was closed."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(1)
        self.error = error
        self.closed_on: str | None = None

    async def get_loads(self) -> Sequence[RankSnapshot]:
        raise self.error

    async def aclose(self) -> None:
        self.closed_on = threading.current_thread().name


@contextmanager
def stream(address: str) -> Iterator[Iterator[WorkerFrame]]:
    """Register on a blocking channel, which needs no event loop; the block takes frames."""
    with grpc.insecure_channel(address) as channel:
        monitor: grpc.StreamStreamMultiCallable[RouterFrame, WorkerFrame] = channel.stream_stream(
            MONITOR_METHOD,
            request_serializer=RouterFrame.SerializeToString,
            response_deserializer=WorkerFrame.FromString,
        )
        ended = threading.Event()

        def frames() -> Iterator[RouterFrame]:
            yield register(interval_ms=20)
            ended.wait(WAIT_SECONDS)

        try:
            yield monitor(frames(), timeout=WAIT_SECONDS)
        finally:
            ended.set()


def kinds(frames: Iterator[WorkerFrame]) -> Iterator[str]:
    for frame in frames:
        yield frame.error.code if frame.HasField("error") else str(frame.WhichOneof("payload"))


async def test_reports_go_on_while_the_main_event_loop_stands_still() -> None:
    with ReporterThread(ON, synthetic) as reporter:
        assert reporter.address is not None
        address, reported = reporter.address, threading.Event()

        def router() -> None:
            with stream(address) as frames:
                arrived = kinds(frames)
                assert [next(arrived) for _ in range(6)] == ["registered", *["report"] * 5]
                reported.set()

        routing = threading.Thread(target=router)
        routing.start()
        # The loop of this test is blocked here; only a reporter that doesn't need it ends the wait.
        assert reported.wait(WAIT_SECONDS)
        routing.join(WAIT_SECONDS)


def test_stopping_says_goodbye_frees_the_port_and_may_be_repeated() -> None:
    reporter = ReporterThread(ON, synthetic)
    reporter.start()
    assert reporter.address is not None
    assert reporter.counters is not None
    with stream(reporter.address) as frames:
        arrived = kinds(frames)
        assert [next(arrived), next(arrived)] == ["registered", "report"]
        assert reporter.counters.fires == 1
        reporter.stop()
        assert "SHUTTING_DOWN" in list(arrived)
    reporter.stop()
    with socket.create_server(("127.0.0.1", int(reporter.address.rpartition(":")[2]))):
        pass


def test_the_source_is_made_read_and_closed_on_the_thread_by_whatever_end() -> None:
    source = Failing(RuntimeError("no load"))
    made_on = []

    def make() -> Failing:
        made_on.append(threading.current_thread().name)
        return source

    with pytest.raises(ZeroDivisionError), ReporterThread(ON, make):
        _ = 1 / 0
    assert made_on == ["loadmonitor-reporter"]
    assert source.closed_on == "loadmonitor-reporter"


def test_a_start_that_fails_tells_the_starter_closes_the_source_and_leaves_no_thread() -> None:
    source = Failing(RuntimeError())
    with socket.create_server(("127.0.0.1", 0)) as taken:
        reporter = ReporterThread(ReporterConfig(port=taken.getsockname()[1]), lambda: source)
        with pytest.raises(BindError, match="another process listens"):
            reporter.start()
    assert source.closed_on == "loadmonitor-reporter"
    assert (reporter.running, reporter.address, reporter.failure) == (False, None, None)


def test_a_source_that_can_not_be_made_is_the_starters_error() -> None:
    def make() -> LoadSnapshotSource:
        raise FileNotFoundError("no such engine")

    with pytest.raises(FileNotFoundError, match="no such engine"):
        ReporterThread(ON, make).start()


def test_it_starts_once() -> None:
    with ReporterThread(ON, synthetic) as reporter, pytest.raises(ServingModeError, match="make a new one"):
        reporter.start()
    with pytest.raises(ServingModeError, match="make a new one"):
        reporter.start()


def test_the_rank_set_is_changed_from_any_thread() -> None:
    with ReporterThread(ON, synthetic) as reporter:
        assert reporter.address is not None
        reporter.update_expected_dp_ranks([0, 1])
        with stream(reporter.address) as frames:
            assert next(frames).HasField("registered")
            assert next(frames).report.last_error == "rank 1 missing of the 2 expected ranks"
        with pytest.raises(ConfigError, match="dp_ranks="):
            reporter.update_expected_dp_ranks([])


def test_what_needs_the_reporters_loop_is_called_there_and_its_outcome_is_the_callers() -> None:
    async def name_of_thread(reporter: LoadReporter) -> tuple[str, str]:
        await asyncio.sleep(0)
        return reporter.address, threading.current_thread().name

    def fail(_: LoadReporter) -> None:
        raise ZeroDivisionError

    reporter = ReporterThread(ON, synthetic)
    with pytest.raises(ServingModeError, match="no load reporter runs"):
        reporter.call(fail)
    with reporter:
        assert reporter.call(name_of_thread) == (reporter.address, "loadmonitor-reporter")
        assert reporter.call(lambda it: it.source_instance_id)
        with pytest.raises(ZeroDivisionError):
            reporter.call(fail)
        with pytest.raises(ServingModeError, match="wait for itself"):
            reporter.call(lambda _: reporter.call(fail))
    with pytest.raises(ServingModeError, match="no load reporter runs"):
        reporter.call(fail)


@pytest.mark.parametrize("survives", [False, True])
def test_a_call_that_the_reporters_end_overtakes_is_told(survives: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loadmonitor_worker.integrations.thread._END_SECONDS", 0.1)

    async def never_ends(_: LoadReporter) -> None:
        called.set()
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                if not survives:
                    raise

    called = threading.Event()
    told: list[str] = []

    def call() -> None:
        with pytest.raises(ServingModeError) as caught:
            reporter.call(never_ends)
        told.append(str(caught.value))

    with ReporterThread(ON, synthetic) as reporter:
        calling = threading.Thread(target=call)
        calling.start()
        assert called.wait(WAIT_SECONDS)
    calling.join(WAIT_SECONDS)
    assert told == ["the load reporter was stopped before the call ended"]


def test_a_loop_torn_down_by_its_source_still_says_goodbye_and_is_told(caplog: pytest.LogCaptureFixture) -> None:
    source = Failing(SystemExit(3))
    with ReporterThread(ON, lambda: source) as reporter:
        assert reporter.address is not None
        with stream(reporter.address) as frames:
            assert list(kinds(frames))[-1] == "SHUTTING_DOWN"
        assert reporter._thread is not None
        reporter._thread.join(WAIT_SECONDS)
        assert reporter.counters is not None
        assert isinstance(reporter.failure, SystemExit)
        assert source.closed_on == "loadmonitor-reporter"
    assert "nothing is reported any more" in caplog.text


async def test_an_async_program_starts_and_stops_it_without_blocking_its_loop() -> None:
    turns = 0

    async def turn() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    turning = asyncio.create_task(turn())
    starting = ReporterThread(ON, synthetic)
    await starting.__aenter__()
    after_start = turns
    await starting.__aexit__(None, None, None)
    assert 1 < after_start < turns - 1
    turning.cancel()


def run(program: str, **variables: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", program],
        env=os.environ | variables,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_switched_off_there_is_no_thread_no_source_and_no_grpc() -> None:
    program = """
import sys, threading
from loadmonitor_worker import ReporterConfig
from loadmonitor_worker.integrations import ReporterThread
with ReporterThread(ReporterConfig(port=None), None) as reporter:
    reporter.update_expected_dp_ranks([0])
    assert (reporter.running, reporter.address, reporter.counters) == (False, None, None)
    assert threading.active_count() == 1
heavy = sorted(name for name in sys.modules if name.split(".")[0] in ("grpc", "google", "loadmonitor_proto"))
assert not heavy, heavy
print("nothing imported")
"""
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=WAIT_SECONDS
    )
    assert ended.stdout == "nothing imported\n", ended.stderr


FORGETS_TO_STOP = """
import sys
from loadmonitor_worker import ReporterConfig
from loadmonitor_worker.integrations import ReporterThread
from loadmonitor_worker.sources import SyntheticSource

reporter = ReporterThread(ReporterConfig(port=0), lambda: SyntheticSource(1))
reporter.start()
print(reporter.address, flush=True)
sys.stdin.readline()
{ending}
"""


@pytest.mark.parametrize(
    ("ending", "status", "said"), [("", 0, ""), ("sys.exit(3)", 3, ""), ("1 / 0", 1, "ZeroDivisionError")]
)
def test_a_program_that_ends_without_stopping_it_says_goodbye(ending: str, status: int, said: str) -> None:
    with run(FORGETS_TO_STOP.format(ending=ending)) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        with stream(process.stdout.readline().strip()) as frames:
            arrived = kinds(frames)
            assert next(arrived) == "registered"
            process.stdin.close()
            process.stdin = None
            assert list(arrived)[-1] == "SHUTTING_DOWN"
        _, errors = process.communicate(timeout=WAIT_SECONDS)
        assert process.returncode == status
        assert said in errors
        assert errors == "" or said != ""


FORKS = """
import os, sys
from loadmonitor_worker import ReporterConfig
from loadmonitor_worker.integrations import ReporterThread
from loadmonitor_worker.sources import SyntheticSource

reporter = ReporterThread(ReporterConfig(port=0), lambda: SyntheticSource(1))
reporter.start()
print(reporter.address, flush=True)
sys.stdin.readline()
if os.fork() == 0:
    reporter.stop()
    print("child", os.getpid(), flush=True)
    sys.stdin.read()
    sys.exit(0)
sys.stdin.read()
"""


def test_a_forked_child_keeps_neither_the_port_nor_the_routers_of_a_parent_that_dies() -> None:
    # gRPC's own handling of forks, when it is on, crashes about every fifth child, whatever runs in it.
    with run(FORKS, GRPC_ENABLE_FORK_SUPPORT="0") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        with stream(address) as frames:
            arrived = kinds(frames)
            assert next(arrived) == "registered"
            process.stdin.write("\n")
            process.stdin.flush()
            child = process.stdout.readline().split()
            assert child[0] == "child"
            assert [next(arrived), next(arrived)] == ["report", "report"], "the parent reports on"
            process.kill()
            process.wait()
            os.kill(int(child[1]), 0)
            with pytest.raises(grpc.RpcError) as lost:
                list(arrived)
            assert lost.value.code() is grpc.StatusCode.UNAVAILABLE
            with socket.socket() as successor:
                successor.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                successor.bind(("127.0.0.1", int(address.rpartition(":")[2])))
            os.kill(int(child[1]), signal.SIGKILL)


def test_a_plain_function_is_a_source_for_a_synchronous_engine() -> None:
    loads: list[RankSnapshot] = []
    with (
        ReporterThread(ON, lambda: CallableSource(lambda: loads, [0])) as reporter,
        stream(reporter.address or "") as frames,
    ):
        assert next(frames).HasField("registered")
        assert next(frames).report.last_error == "rank 0 missing of the one expected rank, 0"
