"""The command `loadmonitor-worker`, run to its end or in the background."""

import asyncio
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import grpc.aio
from worker_bench import Router

from loadmonitor_proto.service import LoadMonitorStub

COMMAND = str(Path(sys.executable).with_name("loadmonitor-worker"))
WAIT_SECONDS = 40


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COMMAND, *arguments], capture_output=True, text=True, timeout=WAIT_SECONDS, check=False)


@asynccontextmanager
async def running(*arguments: str) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    """Start the command and yield it with its first line of output; it has ended afterwards."""
    process = await asyncio.create_subprocess_exec(
        COMMAND, *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            yield process, (await process.stdout.readline()).decode().rstrip("\n")
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def stopped(process: asyncio.subprocess.Process, router: Router) -> list[str]:
    """Stop a `serve` as Kubernetes does: it says goodbye and exits 0. Returns what it logged, line by line."""
    process.send_signal(signal.SIGTERM)
    error = await router.ended()
    assert error is not None
    assert error.code == "SHUTTING_DOWN"
    assert await process.wait() == 0
    assert process.stderr is not None
    return (await process.stderr.read()).decode().splitlines()


@asynccontextmanager
async def serving(*arguments: str) -> AsyncIterator[tuple[asyncio.subprocess.Process, Router]]:
    """Serve on a free port, and register with it."""
    async with running("serve", "--listen", "127.0.0.1:0", *arguments) as (process, line):
        assert line.startswith("listening on 127.0.0.1:")
        async with grpc.aio.insecure_channel(line.removeprefix("listening on ")) as channel:
            router = Router(LoadMonitorStub(channel).Monitor())
            await router.register(interval_ms=20)
            yield process, router
