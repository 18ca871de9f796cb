"""How a process with a source may end, and that its registry is told; each with a real process."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import grpc.aio
import pytest
from publisher_peers import RecordingRegistry, address_of, registration, until

from p2p_registry import AlreadyStartedError, PublisherSettings, PublisherState
from p2p_registry.publisher import SourcePublisher
from p2p_registry.publisher_thread import SourcePublisherThread
from p2p_registry.server import CHANNEL_OPTIONS

PROGRAM = Path(__file__).with_name("publisher_program.py")
FORMS = pytest.mark.parametrize("form", ["asyncio", "thread"])


@asynccontextmanager
async def process(address: str, form: str, way: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run the program until its source is up."""
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        PROGRAM,
        address,
        form,
        way,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=os.environ | {"GRPC_ENABLE_FORK_SUPPORT": "0"},
    )
    assert child.stdout is not None
    try:
        async for line in child.stdout:
            if line == b"up\n":
                break
        yield child
    finally:
        with suppress(ProcessLookupError):
            child.kill()
        await child.communicate()


async def end_of(child: asyncio.subprocess.Process) -> tuple[int, str, str]:
    output, errors = await child.communicate()
    assert child.returncode is not None
    return child.returncode, output.decode(), errors.decode()


@FORMS
@pytest.mark.parametrize(("way", "code"), [("end", 0), ("exit", 3), ("raise", 1)])
async def test_a_process_that_ends_by_itself_marks_its_source_stale(form: str, way: str, code: int) -> None:
    registry = RecordingRegistry()
    async with address_of(registry) as address, process(address, form, way) as child:
        returncode, output, errors = await end_of(child)
    assert returncode == code, errors
    assert "stopped marked STALE" in output
    assert registry.told == [("PUBLISH", None), ("READY", None), ("STALE", None)]
    assert ("the engine broke down" in errors) == (way == "raise")
    assert way == "raise" or errors == ""


@FORMS
async def test_sigterm_marks_the_source_stale_and_still_ends_the_process_by_the_signal(form: str) -> None:
    registry = RecordingRegistry()
    async with address_of(registry) as address, process(address, form, "wait") as child:
        child.terminate()
        returncode, _, errors = await end_of(child)
    assert (returncode, errors) == (-signal.SIGTERM, "")
    assert registry.told == [("PUBLISH", None), ("READY", None), ("STALE", None)]


@FORMS
async def test_sigterm_is_handed_on_to_the_earlier_handler_after_the_goodbye(form: str) -> None:
    registry = RecordingRegistry()
    async with address_of(registry) as address, process(address, form, "chained") as child:
        child.terminate()
        returncode, output, errors = await end_of(child)
    assert (returncode, errors) == (7, "")
    assert output.splitlines() == ["stopped marked STALE", "earlier handler 15"]
    assert registry.told == [("PUBLISH", None), ("READY", None), ("STALE", None)]


async def test_a_handler_of_sigterm_that_the_loop_had_before_still_runs() -> None:
    registry = RecordingRegistry()
    async with address_of(registry) as address, process(address, "asyncio", "loop") as child:
        child.terminate()
        returncode, output, errors = await end_of(child)
    assert (returncode, errors) == (0, "")
    assert sorted(output.splitlines()) == ["stopped marked STALE", "the loop's handler"]
    # The loop's end, which comes amid the goodbye, may cut it off; it is then said once more.
    assert registry.told[2] == registry.told[-1] == ("STALE", None)
    assert len(registry.told) <= 4


@FORMS
async def test_sigterm_is_left_alone_where_that_is_asked_for(form: str) -> None:
    registry = RecordingRegistry()
    async with address_of(registry) as address, process(address, form, "unwatched") as child:
        child.terminate()
        returncode, _, _ = await end_of(child)
    assert returncode == -signal.SIGTERM
    assert registry.told == [("PUBLISH", None), ("READY", None)]


async def test_a_second_sigterm_ends_the_process_while_the_goodbye_still_waits() -> None:
    registry = RecordingRegistry()
    async with address_of(registry) as address, process(address, "asyncio", "wait") as child:
        # The goodbye arrives and isn't answered.
        registry.hold_goodbye = asyncio.Event()
        child.terminate()
        await registry.wait_for(("STALE", None))
        child.terminate()
        returncode, _, _ = await end_of(child)
        assert returncode == -signal.SIGTERM
        registry.hold_goodbye.set()


@FORMS
async def test_a_second_sigterm_ends_the_process_while_a_heartbeat_under_way_is_waited_for(form: str) -> None:
    registry = RecordingRegistry()
    async with address_of(registry) as address, process(address, form, "beating") as child:
        registry.hold = asyncio.Event()
        await registry.wait_for(("READY", None), ("READY", None))
        while child.returncode is None:
            child.terminate()
            with suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(asyncio.ensure_future(child.wait())), 0.1)
        assert child.returncode == -signal.SIGTERM
        registry.hold.set()
    assert ("STALE", None) not in registry.told


async def test_an_ignored_sigterm_stays_ignored() -> None:
    registry = RecordingRegistry()
    async with address_of(registry) as address, process(address, "thread", "ignored") as child:
        child.terminate()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(child.wait(), 0.3)
        child.send_signal(signal.SIGINT)
        await end_of(child)
    assert registry.told == [("PUBLISH", None), ("READY", None), ("STALE", None)]


@FORMS
async def test_a_forked_child_says_nothing_of_its_parents_source(form: str) -> None:
    registry = RecordingRegistry()
    async with address_of(registry) as address, process(address, form, "fork") as child:
        # Two children have ended by now, one by itself and one by SIGTERM; then the parent ends.
        returncode, _, errors = await end_of(child)
    assert (returncode, errors) == (0, "")
    assert registry.told == [("PUBLISH", None), ("READY", None), ("STALE", None)]


async def test_the_thread_form_raises_where_it_starts_what_keeps_it_from_starting() -> None:
    def no_channel() -> grpc.aio.Channel:
        raise FileNotFoundError("ca.pem")

    with pytest.raises(FileNotFoundError, match=r"ca\.pem"):
        SourcePublisherThread(no_channel, registration()).start()


async def test_a_publisher_is_started_once_and_what_runs_goes_on_undisturbed() -> None:
    registry = RecordingRegistry()
    async with (
        address_of(registry) as address,
        grpc.aio.insecure_channel(address, options=CHANNEL_OPTIONS) as channel,
    ):
        publisher = SourcePublisher(channel, registration("w1"))
        await publisher.start()
        with pytest.raises(AlreadyStartedError, match="'w1' was started or stopped before: make another"):
            await publisher.start()
        await registry.wait_for(("PUBLISH", None), ("READY", None))
        await publisher.stop()
        with pytest.raises(AlreadyStartedError):
            await publisher.start()
        thread = SourcePublisherThread(lambda: grpc.aio.insecure_channel(address), registration("w2"))
        await asyncio.to_thread(thread.start)
        with pytest.raises(AlreadyStartedError, match="'w2'"):
            await asyncio.to_thread(thread.start)
        await registry.wait_for(("PUBLISH", None), ("READY", None))
        await asyncio.to_thread(thread.stop)
        with pytest.raises(AlreadyStartedError):
            thread.start()
    assert registry.told == [("PUBLISH", None), ("READY", None), ("STALE", None)] * 2


async def test_the_thread_form_beats_stops_and_may_be_stopped_twice() -> None:
    before = signal.getsignal(signal.SIGTERM)
    registry = RecordingRegistry()
    settings = PublisherSettings(heartbeat_seconds=0.05)
    async with address_of(registry) as address:
        thread = SourcePublisherThread(
            lambda: grpc.aio.insecure_channel(address, options=CHANNEL_OPTIONS),
            registration(),
            provider=lambda: 0.5,
            settings=settings,
        )
        await asyncio.to_thread(thread.start)
        await registry.wait_for(("READY", 0.5), ("READY", 0.5))
        await until(lambda: thread.publisher.state is PublisherState.READY)
        await asyncio.to_thread(thread.stop)
        assert registry.told[-1] == ("STALE", None)
        await asyncio.to_thread(thread.stop)
    assert signal.getsignal(signal.SIGTERM) == before


async def test_publishers_may_be_stopped_in_any_order_and_leave_the_handler_of_sigterm_as_it_was() -> None:
    before = signal.getsignal(signal.SIGTERM)
    registry = RecordingRegistry()
    async with address_of(registry) as address:
        threads = [
            SourcePublisherThread(
                lambda: grpc.aio.insecure_channel(address, options=CHANNEL_OPTIONS), registration(name)
            )
            for name in ("a", "b")
        ]
        for thread in threads:
            # On this thread, where signals can be handled; it returns as soon as the thread runs.
            thread.start()
        assert signal.getsignal(signal.SIGTERM) != before
        for thread in threads:
            await asyncio.to_thread(thread.stop)
    # Neither was stopped on the main thread, where alone handlers can be put back.
    assert signal.getsignal(signal.SIGTERM) != before
    for thread in reversed(threads):
        thread.stop()
    assert signal.getsignal(signal.SIGTERM) == before
