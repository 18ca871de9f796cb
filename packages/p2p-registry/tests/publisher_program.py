"""A process with a source, for the tests of its end: `publisher_program.py ADDRESS FORM WAY`.

It publishes, prints `up`, and does what WAY says; `asyncio` and `thread` are the forms.
"""

import asyncio
import atexit
import os
import signal
import sys
import threading
import time
from types import FrameType

import grpc.aio
from publisher_peers import registration

from p2p_registry import PublisherSettings, PublisherState
from p2p_registry.publisher import SourcePublisher
from p2p_registry.publisher_thread import SourcePublisherThread
from p2p_registry.server import CHANNEL_OPTIONS

ADDRESS, FORM, WAY = sys.argv[1:4]
SETTINGS = PublisherSettings(
    stale_on_sigterm=WAY != "unwatched",
    heartbeat_seconds=0.1 if WAY == "beating" else 30,
    call_seconds=60,
    stop_seconds=120 if WAY == "beating" else 5,
)
ready = threading.Event()


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def on_change(state: PublisherState, reason: str) -> None:
    say(state, reason)
    if state is PublisherState.READY:
        ready.set()


def say_and_exit(number: int, frame: FrameType | None) -> None:
    del frame
    say("earlier handler", number)
    sys.exit(7)


def go() -> None:
    """Say that the source is up, then end as it was told to, or wait for the signal."""
    if WAY == "fork":
        child = os.fork()
        if child == 0:
            # What runs at an interpreter's exit; the rest of that is gRPC's, which hangs here.
            atexit._run_exitfuncs()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        alive, tell = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(tell, b"!")
            time.sleep(60)
        # Python forgets a signal that arrives before it has finished the fork.
        os.read(alive, 1)
        os.kill(child, signal.SIGTERM)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGTERM
    say("up")
    if WAY == "raise":
        raise ValueError("the engine broke down")
    if WAY == "exit":
        sys.exit(3)


async def on_a_loop() -> None:
    told_to_end = asyncio.Event()
    if WAY == "loop":
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, told_to_end.set)
    channel = grpc.aio.insecure_channel(ADDRESS, options=CHANNEL_OPTIONS)
    publisher = SourcePublisher(channel, registration(), settings=SETTINGS, on_change=on_change)
    await publisher.start()
    await asyncio.to_thread(ready.wait)
    go()
    if WAY == "loop":
        await told_to_end.wait()
        say("the loop's handler")
    elif WAY not in {"end", "fork"}:
        await asyncio.sleep(60)


def on_a_thread() -> None:
    publisher = SourcePublisherThread(
        lambda: grpc.aio.insecure_channel(ADDRESS, options=CHANNEL_OPTIONS),
        registration(),
        settings=SETTINGS,
        on_change=on_change,
    )
    publisher.start()
    ready.wait()
    go()
    if WAY not in {"end", "fork"}:
        time.sleep(60)


if WAY == "chained":
    signal.signal(signal.SIGTERM, say_and_exit)
if WAY == "ignored":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if FORM == "asyncio":
    asyncio.run(on_a_loop())
else:
    on_a_thread()
