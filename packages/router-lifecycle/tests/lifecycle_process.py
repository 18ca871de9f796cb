"""`router-lifecycle` as a process, for tests."""

import asyncio
import signal
import sysconfig
from asyncio.subprocess import PIPE, Process
from pathlib import Path

COMMAND = str(Path(sysconfig.get_path("scripts")) / "router-lifecycle")
WAIT_SECONDS = 50


async def start(*arguments: str) -> Process:
    return await asyncio.create_subprocess_exec(COMMAND, *arguments, stdout=PIPE, stderr=PIPE)


async def run(*arguments: str) -> tuple[int | None, str, list[str]]:
    """Run the command to its end and return its exit code, stdout, and the lines of stderr."""
    return await ended(await start(*arguments))


async def ended(process: Process) -> tuple[int | None, str, list[str]]:
    async with asyncio.timeout(WAIT_SECONDS):
        out, err = await process.communicate()
    return process.returncode, out.decode(), err.decode().splitlines()


async def stopped_at(event: str, stop: signal.Signals, *arguments: str) -> tuple[int | None, str, list[str]]:
    """Run the command until it tells an event, stop it, and return as `run` does."""
    process = await start(*arguments)
    assert process.stderr is not None
    async with asyncio.timeout(WAIT_SECONDS):
        while not (line := await process.stderr.readline()).startswith(event.encode()):
            assert line, f"{arguments}: it ended before it told {event}"
    process.send_signal(stop)
    return await ended(process)
