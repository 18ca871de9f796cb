"""The fleet of the demonstration: processes of `loadmonitor-worker`, an engine that isn't one and its sidecar each."""

import asyncio
import os
import shutil
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Self

from loadmonitor_router.errors import LoadMonitorRouterError

_START_SECONDS = 30.0
_DIES_WITH_PARENT = """
import ctypes, os, signal, sys
if sys.platform == "linux":
    PR_SET_PDEATHSIG = 1  # <linux/prctl.h>
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
os.execv(sys.argv[1], sys.argv[1:])
"""
"""Has the kernel kill a command when its parent ends, however that comes about.

A program of its own, because the same as `preexec_fn` runs between fork and exec, where a process with gRPC's threads can hang.
"""


class DemoError(LoadMonitorRouterError):
    """The demonstration can't be held here; the message says what is missing."""


class Worker:
    """A simulated engine that publishes its load in a file as SGLang does, and the sidecar that reports it.

    Attributes:
        address: Where the sidecar listens; the same after a restart.
        description: What it is, for people.
    """

    def __init__(self, directory: Path, *, number: int, dp_size: int, worker_type: str) -> None:
        """Describe the worker; `start` starts it."""
        self.description = f"{worker_type}, {dp_size} rank{'s' if dp_size > 1 else ''}"
        self._path = directory / f"sglang_loads_demo{number}.shm"
        self._engine_arguments = ("--dp-size", str(dp_size), "--seed", str(number), "--period-ms", "9000")
        self._sidecar_arguments = (
            *("--worker-type", worker_type),
            *("--worker-addr", f"http://127.0.0.1:{30_000 + number}"),
            *("--model", "demo"),
            *("--stale-after-ms", "1500"),
            *("--log-level", "error"),
        )
        self._processes: list[asyncio.subprocess.Process] = []
        self.address = "127.0.0.1:0"

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.kill()

    async def start(self) -> None:
        """Start the engine and its sidecar, and wait until the sidecar listens.

        Raises:
            DemoError: `loadmonitor-worker` isn't installed, or doesn't start.
        """
        path = ("--shm-path", str(self._path))
        await self._run("simulate", *path, *self._engine_arguments)
        port = self.address.rpartition(":")[2]
        source = ("--source", "sglang-shm")
        line = await self._run("serve", *source, *path, "--listen", f"127.0.0.1:{port}", *self._sidecar_arguments)
        self.address = line.removeprefix("listening on ")

    def freeze(self) -> None:
        """Stop the engine's process where it is; the sidecar goes on."""
        self._processes[0].send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let the engine's process go on."""
        self._processes[0].send_signal(signal.SIGCONT)

    async def kill(self) -> None:
        """Kill both processes, without a goodbye."""
        processes, self._processes = self._processes, []
        for process in processes:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def _run(self, *arguments: str) -> str:
        """Start a process and return its first line of output."""
        search = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
        command = shutil.which("loadmonitor-worker", path=search)
        if command is None:
            raise DemoError(
                "the demo starts loadmonitor-worker, which isn't here: pip install 'loadmonitor-worker[cli]'"
            )
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", "-c", _DIES_WITH_PARENT),
            *(command, *arguments),
            stdout=asyncio.subprocess.PIPE,
        )
        self._processes.append(process)
        assert process.stdout is not None
        with suppress(TimeoutError):
            async with asyncio.timeout(_START_SECONDS):
                line = (await process.stdout.readline()).decode().strip()
                if line:
                    return line
        raise DemoError(f"loadmonitor-worker {' '.join(arguments)} said nothing within {_START_SECONDS:.0f} s")
