"""One owner among several processes. Two ElectedReporter of one process lock each other out as two processes do."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path

import grpc.aio
import pytest
from worker_bench import Router

import loadmonitor_proto as wire
from loadmonitor_proto.service import LoadMonitorStub
from loadmonitor_worker import BindError, ConfigError, RankSnapshot, ReporterConfig, ServingModeError, WorkerState
from loadmonitor_worker.integrations import ElectedReporter
from loadmonitor_worker.sources import SyntheticSource

WAIT_SECONDS = 40


class Unclosable(SyntheticSource):
    """Can't be closed."""

    def close(self) -> None:
        raise ZeroDivisionError


@pytest.fixture
def config() -> ReporterConfig:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return ReporterConfig(port=free.getsockname()[1])


Member = Callable[[], ElectedReporter]


@pytest.fixture
def member(config: ReporterConfig, tmp_path: Path) -> Member:
    return lambda: ElectedReporter(config, lambda: SyntheticSource(1), tmp_path / "engine", retry_seconds=0.01)


async def owns(elected: ElectedReporter) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        while elected.reporter is None:  # noqa: ASYNC110 - it is told to nobody else
            await asyncio.sleep(0.01)


@asynccontextmanager
async def registered(config: ReporterConfig, interval_ms: int = 20) -> AsyncIterator[Router]:
    async with grpc.aio.insecure_channel(f"{config.host}:{config.port}") as channel:
        router = Router(LoadMonitorStub(channel).Monitor())
        await router.register(interval_ms=interval_ms)
        yield router


async def test_the_first_to_enter_owns_the_reporter_and_hands_it_over_when_it_leaves(
    member: Member, config: ReporterConfig
) -> None:
    async with AsyncExitStack() as rest:
        first = AsyncExitStack()
        owner = await first.enter_async_context(member())
        others = [await rest.enter_async_context(member()) for _ in range(3)]
        assert owner.reporter is not None
        assert [other.reporter for other in others] == [None] * 3
        async with registered(config) as router:
            await first.aclose()
            error = await router.ended()
            assert error is not None
            assert error.code == "SHUTTING_DOWN"
        async with asyncio.timeout(WAIT_SECONDS):
            while not any(other.reporter for other in others):  # noqa: ASYNC110 - it is told to nobody else
                await asyncio.sleep(0.01)
        async with registered(config) as router:
            await router.report()
        assert sum(other.reporter is not None for other in others) == 1
    assert all(other.reporter is None for other in others)


async def test_an_exception_in_the_owner_closes_its_reporter_and_frees_the_lock(
    member: Member, config: ReporterConfig
) -> None:
    entered = asyncio.Event()

    async def fail_as_owner(failing: asyncio.Event) -> None:
        async with member() as owner:
            assert owner.reporter is not None
            entered.set()
            await failing.wait()
            raise ZeroDivisionError

    failing = asyncio.Event()
    serving = asyncio.create_task(fail_as_owner(failing))
    await entered.wait()
    async with member() as other:
        failing.set()
        with pytest.raises(ZeroDivisionError):
            await serving
        await owns(other)
        async with registered(config) as router:
            await router.report()


async def test_an_owner_whose_source_can_not_be_closed_frees_the_lock_too(
    config: ReporterConfig, tmp_path: Path
) -> None:
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            async with ElectedReporter(config, lambda: Unclosable(1), tmp_path):
                pass
    waiting = ElectedReporter(config, lambda: Unclosable(1), tmp_path, retry_seconds=0.01)
    async with ElectedReporter(config, lambda: SyntheticSource(1), tmp_path) as owner:
        await waiting.__aenter__()
        assert owner.reporter is not None
    await owns(waiting)
    with pytest.raises(ZeroDivisionError):
        await waiting.__aexit__(None, None, None)
    async with ElectedReporter(config, lambda: SyntheticSource(1), tmp_path) as again:
        assert again.reporter is not None


async def test_a_rank_set_told_to_any_process_reaches_the_owner_at_its_next_read_and_the_owner_to_come(
    member: Member, config: ReporterConfig
) -> None:
    async with member() as other:
        async with AsyncExitStack() as stack:
            assert other.reporter is not None
            teller = await stack.enter_async_context(member())
            async with registered(config) as router:
                assert (await router.report()).last_error == ""
                teller.update_expected_dp_ranks([0, 1])
                async with asyncio.timeout(WAIT_SECONDS):
                    while not (error := (await router.report()).last_error):
                        pass
                assert error == "rank 1 missing of the 2 expected ranks"
                latecomer = await member().__aenter__()
                assert (await router.report()).last_error == error
                latecomer.update_expected_dp_ranks([0])
                async with asyncio.timeout(WAIT_SECONDS):
                    while (await router.report()).last_error:
                        pass
                await latecomer.__aexit__(None, None, None)
                teller.update_expected_dp_ranks([0, 1])
            await other.__aexit__(None, None, None)
            await owns(teller)
            async with registered(config) as router:
                assert (await router.report()).last_error == "rank 1 missing of the 2 expected ranks"
        await other.__aenter__()
        async with registered(config) as router:
            assert (await router.report()).last_error == "", "ranks of an engine that has ended count no more"


async def told_state(router: Router, state: int) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        while (await router.report()).worker_state != state:
            pass


async def test_a_state_told_in_any_process_reaches_the_owner_and_its_successor_until_all_have_left(
    member: Member, config: ReporterConfig
) -> None:
    owner = await member().__aenter__()
    other = await member().__aenter__()
    async with registered(config) as router:
        assert not (await router.report()).HasField("worker_state")
        other.set_worker_state(WorkerState.PAUSED)
        await told_state(router, wire.WorkerState.WORKER_STATE_PAUSED)
        owner.set_worker_state(WorkerState.SERVING)
        assert owner.reporter is not None
        assert owner.reporter.worker_state is WorkerState.SERVING, "the owner's own need not wait"
        # What the owner's reporter was told directly stands until something new is told, the same word included.
        other.set_worker_state(WorkerState.DRAINING)
        await told_state(router, wire.WorkerState.WORKER_STATE_DRAINING)
        owner.reporter.set_worker_state(WorkerState.SERVING)
        await told_state(router, wire.WorkerState.WORKER_STATE_SERVING)
        other.set_worker_state(WorkerState.DRAINING)
        await told_state(router, wire.WorkerState.WORKER_STATE_DRAINING)
    await owner.__aexit__(None, None, None)
    await owns(other)
    async with registered(config) as router:
        assert (await router.report()).worker_state == wire.WorkerState.WORKER_STATE_DRAINING
    await other.__aexit__(None, None, None)
    async with member() as later, registered(config) as router:
        assert later.reporter is not None
        assert not (await router.report()).HasField("worker_state")


async def test_a_state_is_told_inside_the_block_only_and_must_be_one(member: Member) -> None:
    elected = member()
    with pytest.raises(ServingModeError, match="inside its `async with` block"):
        elected.set_worker_state(WorkerState.SERVING)
    async with elected:
        with pytest.raises(ConfigError, match="worker state 'gone' is not allowed"):
            elected.set_worker_state("gone")  # type: ignore[arg-type]


async def test_a_read_during_which_the_rank_set_changes_is_repeated(config: ReporterConfig, tmp_path: Path) -> None:
    reads = []

    class Resized(SyntheticSource):
        async def get_loads(self) -> Sequence[RankSnapshot]:
            reads.append(1)
            elected.update_expected_dp_ranks([0, 1])
            return await SyntheticSource(min(len(reads), 2)).get_loads()

    elected = ElectedReporter(config, lambda: Resized(1), tmp_path)
    async with elected, registered(config, interval_ms=60_000) as router:
        assert len((await router.report()).ranks) == 2
        assert len(reads) == 2


@pytest.mark.parametrize("ranks", [[], [-1], [True], ["0"]])
async def test_a_rank_set_that_cannot_be_is_refused(member: Member, ranks: list[int]) -> None:
    async with member() as elected:
        with pytest.raises(ConfigError, match="dp_ranks="):
            elected.update_expected_dp_ranks(ranks)


async def test_outside_its_block_it_takes_no_rank_set_and_inside_no_second_entry(member: Member) -> None:
    elected = member()
    with pytest.raises(ServingModeError, match="inside its `async with` block"):
        elected.update_expected_dp_ranks([0])
    async with elected:
        with pytest.raises(ServingModeError, match="entered already"):
            await elected.__aenter__()
        assert elected.reporter is not None


async def test_a_first_owner_that_can_not_listen_fails_its_start_and_leaves_the_lock(
    member: Member, config: ReporterConfig
) -> None:
    with socket.create_server((config.host, config.port or 0)), pytest.raises(BindError):
        await member().__aenter__()
    async with member() as elected:
        assert elected.reporter is not None


async def test_a_successor_that_can_not_listen_says_so_once_and_tries_on(
    config: ReporterConfig, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tries = []

    def make_source() -> SyntheticSource:
        tries.append(1)
        return SyntheticSource(1)

    elsewhere = ElectedReporter(ReporterConfig(port=0), make_source, tmp_path)
    await elsewhere.__aenter__()
    async with ElectedReporter(config, make_source, tmp_path, retry_seconds=0.01) as successor:
        with socket.create_server((config.host, config.port or 0)):
            await elsewhere.__aexit__(None, None, None)
            async with asyncio.timeout(WAIT_SECONDS):
                while len(tries) < 5:  # noqa: ASYNC110 - it tells nobody when it tries
                    await asyncio.sleep(0.01)
            assert successor.reporter is None
        await owns(successor)
    assert caplog.text.count("can't take the load reporter over") == 1
    assert "another process listens on that port" in caplog.text


async def test_a_lock_file_that_somebody_removed_does_not_make_two_owners_of_a_port(
    member: Member, tmp_path: Path
) -> None:
    async with member() as owner:
        (tmp_path / "engine" / "owner.lock").unlink()
        with pytest.raises(BindError):
            await member().__aenter__()
        assert owner.reporter is not None


def test_switched_off_it_makes_no_file_no_source_and_takes_rank_sets_without_effect(tmp_path: Path) -> None:
    async def serve() -> None:
        elected = ElectedReporter(ReporterConfig(port=None), lambda: SyntheticSource(1), tmp_path / "engine")
        async with elected:
            elected.update_expected_dp_ranks([0])
            elected.set_worker_state(WorkerState.SERVING)
            assert elected.reporter is None

    asyncio.run(serve())
    assert list(tmp_path.iterdir()) == []


MEMBER = """
import asyncio, json, os, sys
from loadmonitor_worker import ReporterConfig
from loadmonitor_worker.integrations import ElectedReporter
from loadmonitor_worker.sources import SyntheticSource

async def main():
    port, directory = json.loads(sys.argv[1])
    elected = ElectedReporter(ReporterConfig(port=port), lambda: SyntheticSource(1), directory, retry_seconds=0.02)
    async with elected:
        print(json.dumps({"owns": elected.reporter is not None, "grpc": "grpc" in sys.modules}), flush=True)
        line = await asyncio.to_thread(sys.stdin.readline)
        if line == "fork\\n" and os.fork() == 0:
            print("child", os.getpid(), flush=True)
            sys.stdin.read()
            os._exit(0)
        await asyncio.to_thread(sys.stdin.read)

asyncio.run(main())
"""


@contextmanager
def process(config: ReporterConfig, directory: Path) -> Iterator["subprocess.Popen[str]"]:
    arguments = json.dumps([config.port, str(directory)])
    command = [sys.executable, "-W", "ignore", "-c", MEMBER, arguments]
    # gRPC's own handling of forks, when it is on, crashes about every fifth child, whatever runs in it.
    environment = os.environ | {"GRPC_ENABLE_FORK_SUPPORT": "0"}
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as running:
        try:
            yield running
        finally:
            running.kill()


async def line(running: "subprocess.Popen[str]") -> str:
    assert running.stdout is not None
    return await asyncio.to_thread(running.stdout.readline)


async def test_a_process_takes_over_from_one_that_was_killed_though_its_forked_child_lives(
    config: ReporterConfig, tmp_path: Path
) -> None:
    successor = ElectedReporter(config, lambda: SyntheticSource(1), tmp_path, retry_seconds=0.01)
    with process(config, tmp_path) as owner:
        assert json.loads(await line(owner)) == {"owns": True, "grpc": True}
        async with successor:
            with process(config, tmp_path) as idle:
                assert json.loads(await line(idle)) == {"owns": False, "grpc": False}
            assert successor.reporter is None
            assert owner.stdin is not None
            owner.stdin.write("fork\n")
            owner.stdin.flush()
            child = int((await line(owner)).removeprefix("child "))
            owner.kill()
            await owns(successor)
            os.kill(child, signal.SIGKILL)
            async with registered(config) as router:
                await router.report()
