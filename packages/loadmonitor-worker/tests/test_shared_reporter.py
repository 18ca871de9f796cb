"""One reporter for all servers of a process: who starts it, who closes it, and that a failing server closes it too."""

import asyncio
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import grpc.aio
import pytest
from worker_bench import Router

from loadmonitor_proto.service import LoadMonitorStub
from loadmonitor_worker import BindError, ReporterConfig, ServingModeError
from loadmonitor_worker.integrations import SharedReporter, refuse_reporter
from loadmonitor_worker.sources import SyntheticSource

ON = ReporterConfig(port=0)


class Source(SyntheticSource):
    """Keeps count of the sources that were made and not closed."""

    open = 0
    close_error: Exception | None = None

    def __init__(self) -> None:
        super().__init__(1)
        Source.open += 1

    async def aclose(self) -> None:
        Source.open -= 1
        if Source.close_error is not None:
            raise Source.close_error


@pytest.fixture(autouse=True)
def _fresh_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Source, "open", 0)
    monkeypatch.setattr(Source, "close_error", None)


@asynccontextmanager
async def registered(address: str) -> AsyncIterator[Router]:
    async with grpc.aio.insecure_channel(address) as channel:
        router = Router(LoadMonitorStub(channel).Monitor())
        await router.register(interval_ms=60_000)
        yield router


async def refused(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        _, writer = await asyncio.open_connection(host, int(port))
    except ConnectionRefusedError:
        return True
    writer.close()
    await writer.wait_closed()
    return False


async def test_servers_that_start_together_share_one_reporter_and_the_last_to_leave_closes_it() -> None:
    shared = SharedReporter(ON, Source)
    first, second = AsyncExitStack(), AsyncExitStack()
    one, two = await asyncio.gather(first.enter_async_context(shared), second.enter_async_context(shared))
    assert one is not None
    assert one is two is shared.reporter
    assert Source.open == 1
    await first.aclose()
    assert shared.reporter is one
    async with registered(one.address) as router:
        await router.report()
        await second.aclose()
        error = await router.ended()
    assert error is not None
    assert error.code == "SHUTTING_DOWN"
    assert Source.open == 0
    assert await refused(one.address)


async def serve(shared: SharedReporter, failing_with: Exception | None = None) -> str:
    async with shared as reporter:
        assert reporter is not None
        if failing_with is not None:
            failing_with.add_note(reporter.address)
            raise failing_with
        return reporter.address


async def test_an_exception_in_a_server_closes_the_reporter_like_a_regular_end() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        await serve(SharedReporter(ON, Source), ZeroDivisionError())
    assert Source.open == 0
    assert await refused(caught.value.__notes__[0])


async def test_a_cancelled_server_closes_the_reporter() -> None:
    shared = SharedReporter(ON, Source)
    entered: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def serve_for_ever() -> None:
        async with shared as reporter:
            assert reporter is not None
            entered.set_result(reporter.address)
            await asyncio.Event().wait()

    serving = asyncio.create_task(serve_for_ever())
    address = await entered
    serving.cancel()
    await asyncio.wait([serving])
    assert Source.open == 0
    assert await refused(address)


async def test_a_source_that_can_not_be_closed_is_told_and_the_reporter_may_start_again() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        shared = SharedReporter(ReporterConfig(port=free.getsockname()[1]), Source)
    for _ in range(2):
        Source.close_error = RuntimeError("connection lost")
        with pytest.raises(RuntimeError, match="connection lost"):
            await serve(shared)
        assert shared.reporter is None


async def test_a_start_that_failed_is_tried_again_by_the_next_server() -> None:
    async with SharedReporter(ON, Source) as holder:
        assert holder is not None
        shared = SharedReporter(ReporterConfig(port=int(holder.address.rpartition(":")[2])), Source)
        with pytest.raises(BindError):
            await shared.__aenter__()
        assert Source.open == 1
    async with shared as reporter:
        assert reporter is not None
        assert reporter.address == holder.address
    assert Source.open == 0


async def test_a_server_that_gives_up_while_it_waits_for_another_to_start_leaves_no_trace() -> None:
    shared = SharedReporter(ON, Source)
    starting = asyncio.create_task(shared.__aenter__())
    await asyncio.sleep(0)
    joining = asyncio.create_task(shared.__aenter__())
    await asyncio.sleep(0)
    joining.cancel()
    await asyncio.wait([starting, joining])
    assert joining.cancelled()
    await shared.__aexit__(None, None, None)
    assert (shared.reporter, Source.open) == (None, 0)


def test_it_runs_again_on_another_event_loop_after_everybody_left() -> None:
    shared = SharedReporter(ON, Source)
    assert asyncio.run(serve(shared)).startswith("127.0.0.1:")
    assert asyncio.run(serve(shared)).startswith("127.0.0.1:")


async def test_a_server_on_another_event_loop_is_refused() -> None:
    shared = SharedReporter(ON, Source)

    def on_another_loop() -> None:
        asyncio.run(shared.__aenter__())

    async with shared:
        with pytest.raises(ServingModeError, match="take a ReporterThread"):
            await asyncio.to_thread(on_another_loop)
        assert Source.open == 1
    assert Source.open == 0


def test_switched_off_it_makes_no_source_and_imports_no_grpc() -> None:
    program = """
import asyncio, sys
from loadmonitor_worker import ReporterConfig
from loadmonitor_worker.integrations import SharedReporter, refuse_reporter

async def main():
    async with SharedReporter(ReporterConfig(port=None), None) as reporter:
        assert reporter is None

asyncio.run(main())
refuse_reporter(ReporterConfig(port=None))
heavy = sorted(name for name in sys.modules if name.split(".")[0] in ("grpc", "google", "loadmonitor_proto"))
assert not heavy, heavy
print("nothing imported")
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=40)
    assert ended.stdout == "nothing imported\n", ended.stderr


def test_an_embedded_engine_refuses_a_port() -> None:
    with pytest.raises(ServingModeError, match=r"port=0.*pass port=None.*loadmonitor-worker serve"):
        refuse_reporter(ON)
