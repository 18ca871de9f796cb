"""Real processes of both sides: the installed commands, and the programs beside this file."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Self, cast

HERE = Path(__file__).parent
COMMAND = str(Path(sys.executable).with_name("loadmonitor-worker"))
START_SECONDS = 30
_SIGNS_OF_A_LEAK = ("Traceback", "was destroyed", "never retrieved", "never awaited", "ExecuteBatchError")


class Process:
    """A process whose lines are read as they come.

    Attributes:
        errors: What it has written to stderr so far.
    """

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self.errors: list[str] = []
        self._complained = asyncio.Event()
        self._reading = [asyncio.create_task(self._read_lines()), asyncio.create_task(self._read_errors())]

    @classmethod
    @asynccontextmanager
    async def run(cls, *command: str, may_complain: bool = False) -> AsyncIterator[Self]:
        """Start a command; it is gone afterwards, and has left no sign of an unhandled error unless it may."""
        started = cls(
            await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
        )
        try:
            yield started
        finally:
            await started.kill()
        signs = [line for line in started.errors if any(sign in line for sign in _SIGNS_OF_A_LEAK)]
        assert may_complain or not signs, started.errors

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """How it ended, or None."""
        return self._process.returncode

    def signal(self, number: signal.Signals) -> None:
        """Send a signal."""
        self._process.send_signal(number)

    def terminate(self) -> None:
        """Ask it to end."""
        self._process.terminate()

    async def order(self, word: str) -> None:
        """Write a line to its stdin."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{word}\n".encode())
        await self._process.stdin.drain()

    async def ends(self) -> int:
        """Wait for its end; return the exit code."""
        return await self._process.wait()

    async def kill(self) -> None:
        """End it, stopped or not, and wait until all it said is read."""
        if self._process.returncode is None:
            os.killpg(self.pid, signal.SIGKILL)  # with all that it has forked
            await self._process.wait()
        await asyncio.gather(*self._reading)

    async def line(self) -> str:
        """Return the next line of its output."""
        line = await self.line_or_end()
        assert line is not None, f"it ended: {self.errors}"
        return line

    async def tells(self, *, after_ns: int) -> dict[str, Any]:
        """Return what it told in its next line of after this moment."""
        while True:
            said = cast("dict[str, Any]", json.loads(await self.line()))
            if said["ns"] >= after_ns:
                return said

    async def line_or_end(self) -> str | None:
        """Return the next line of its output, or None when there is no more."""
        return await self._lines.get()

    async def complains(self, words: str) -> str:
        """Wait for a line on stderr that holds these words."""
        while not (found := [line for line in self.errors if words in line]):
            self._complained.clear()
            await self._complained.wait()
        return found[0]

    async def _read_lines(self) -> None:
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            self._lines.put_nowait(line.decode().rstrip("\n"))
        self._lines.put_nowait(None)

    async def _read_errors(self) -> None:
        assert self._process.stderr is not None
        async for line in self._process.stderr:
            self.errors.append(line.decode().rstrip("\n"))
            self._complained.set()


class Router(Process):
    """router_program.py."""

    @classmethod
    @asynccontextmanager
    async def watching(cls, address: str, *options: str) -> AsyncIterator[Self]:
        """Start a router of this address."""
        async with cls.run(sys.executable, str(HERE / "router_program.py"), address, *options) as router:
            yield router

    async def says(self, freshness: str, reason: str = "", *, after_ns: int = 0) -> dict[str, Any]:
        """Wait for a line of after this moment that says so; return it."""
        while True:
            said = await self.tells(after_ns=after_ns)
            if said["freshness"] == freshness and reason in (said["reason"] or ""):
                return said

    async def starts(self) -> dict[str, Any]:
        """Wait until the worker is fresh for the first time."""
        async with asyncio.timeout(START_SECONDS):
            return await self.says("fresh")


class Worker(Process):
    """worker_program.py, or the command `loadmonitor-worker serve`."""

    address = ""

    @classmethod
    @asynccontextmanager
    async def telling(cls, *options: str, may_complain: bool = False) -> AsyncIterator[Self]:
        """Start a worker that tells its session table."""
        command = (sys.executable, str(HERE / "worker_program.py"), *options)
        async with cls.run(*command, may_complain=may_complain) as worker:
            await worker._listens()
            yield worker

    @classmethod
    @asynccontextmanager
    async def serving(cls, *options: str) -> AsyncIterator[Self]:
        """Start `loadmonitor-worker serve`."""
        async with cls.run(
            COMMAND, "serve", *(options or ("--source", "synthetic", "--listen", "127.0.0.1:0"))
        ) as worker:
            await worker._listens()
            yield worker

    @classmethod
    @asynccontextmanager
    async def simulating(cls, *options: str) -> AsyncIterator[Self]:
        """Start `loadmonitor-worker simulate`, an engine."""
        async with cls.run(COMMAND, "simulate", *options) as engine:
            async with asyncio.timeout(START_SECONDS):
                await engine.line()
            yield engine

    @property
    def port(self) -> str:
        """The port it listens on."""
        return self.address.rpartition(":")[2]

    async def says(self, registered: list[str], streams: int, *, after_ns: int = 0) -> dict[str, Any]:
        """Wait for a line of after this moment that says so; return it."""
        while True:
            said = await self.tells(after_ns=after_ns)
            if said["registered"] == registered and said["streams"] == streams:
                return said

    async def _listens(self) -> None:
        async with asyncio.timeout(START_SECONDS):
            self.address = (await self.line()).removeprefix("listening on ")
