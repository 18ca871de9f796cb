"""Where the scenarios are played: the released routers with engines on real ports, and the fake router of the same release."""

import asyncio
import itertools
import json
import random
import shutil
import socket
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from engine_server import serving
from processes import Process

from router_lifecycle.testing import FakeEngine, FakeRouter, RouterOptions
from router_lifecycle.testing.serving import serve

HERE = Path(__file__).parent
SMG = "smg-1.13.0"
VERSIONS = ("0.2.0", "0.2.2", "0.2.4", "0.3.0", "0.3.2", SMG)
STOOD_IN = "the engines (tests/routers/engine_server.py); nothing of the router"
START_SECONDS = 120
# Of the scenarios that share a router; those that have one to themselves spend their time waiting.
_AT_ONCE = 3
_NEEDS = ("setproctitle", "aiohttp", "orjson", "fastapi", "uvicorn", "requests")
# There is no wheel for anything newer.
_NEWEST_OF_0_2_0 = (3, 12)
# Below the ports that the system gives out by itself, so that no connection takes one.
_PORTS = range(16_384, 32_768)


@dataclass(frozen=True)
class Flags:
    """What a router is started with; scenarios with equal flags share one router.

    Attributes:
        alone: The scenario that has a router to itself, or "".
        api_key: The router's key, or None.
        dp_aware: Whether ranks are workers.
        startup_timeout_seconds: How long a new worker may take, or None for the release's default.
    """

    alone: str = ""
    api_key: str | None = None
    dp_aware: bool = False
    startup_timeout_seconds: int | None = 60

    def words(self) -> list[str]:
        """Return them as the routers' commands take them."""
        words = [] if self.api_key is None else ["--api-key", self.api_key]
        if self.startup_timeout_seconds is not None:
            words += ["--worker-startup-timeout-secs", str(self.startup_timeout_seconds)]
        return [*words, *(["--dp-aware"] if self.dp_aware else [])]


class Place(ABC):
    """One router and the engines that it reaches."""

    url: str

    @abstractmethod
    async def engine(self, **description: Any) -> FakeEngine:
        """Let the router reach an engine, described as for `FakeEngine`; its clock is `time.monotonic`."""

    @abstractmethod
    async def stop(self) -> None:
        """Kill the router."""

    @abstractmethod
    async def start(self) -> None:
        """Start it again under its URL."""


class FakePlace(Place):
    """A fake router on a real socket."""

    def __init__(self, version: str, flags: Flags) -> None:
        options = RouterOptions(
            api_key=flags.api_key,
            dp_aware=flags.dp_aware,
            startup_timeout_seconds=flags.startup_timeout_seconds,
        )
        self.router = FakeRouter(version, clock=time.monotonic, options=options)
        self._hosts = itertools.count(1)

    async def engine(self, **description: Any) -> FakeEngine:
        engine = FakeEngine(f"http://10.0.0.{next(self._hosts)}:30000", **description)
        self.router.add_engine(engine)
        return engine

    async def stop(self) -> None:
        self.router.stop()

    async def start(self) -> None:
        self.router.restart()


class RealPlace(Place):
    """A router of a released wheel."""

    def __init__(self, releases: Process, turns: asyncio.Lock, stack: AsyncExitStack, log: Path, flags: Flags) -> None:
        self._releases = releases
        self._turns = turns
        self._stack = stack
        self._log = log
        self._port = free_port()
        self._words = ["--host", "127.0.0.1", "--port", str(self._port), "--prometheus-port", str(free_port())]
        self._words += flags.words()
        self._pid = ""
        self.url = f"http://127.0.0.1:{self._port}"

    async def engine(self, **description: Any) -> FakeEngine:
        # Named as TCP, or asyncio lets answers wait for ACKs.
        reserved = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        reserved.bind(("127.0.0.1", 0))
        engine = FakeEngine(f"http://127.0.0.1:{reserved.getsockname()[1]}", **description)
        await self._stack.enter_async_context(serving(engine, reserved))
        return engine

    async def stop(self) -> None:
        await self._order("kill", self._pid)

    async def start(self) -> None:
        self._pid = await self._order("start", str(self._log), *self._words)
        async with asyncio.timeout(START_SECONDS), http_client(self.url) as http:
            while True:
                try:
                    await http.get("/workers")
                except httpx.TransportError:
                    await asyncio.sleep(0.1)
                else:
                    return

    async def _order(self, *words: str) -> str:
        async with self._turns:
            await self._releases.order(json.dumps(words))
            return await self._releases.line()


def http_client(url: str) -> httpx.AsyncClient:
    """Return a client of a router; reading the system's certificates for each would hold up everybody, and nothing is encrypted."""
    return httpx.AsyncClient(base_url=url, trust_env=False, verify=False, timeout=10)  # noqa: S501


def free_port() -> int:
    """Return a port that nobody listens on and that the system doesn't give out by itself."""
    while True:
        with socket.socket() as probe:
            port = random.choice(_PORTS)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


class Site(ABC):
    """Routers of one release; those with equal flags are one."""

    def __init__(self, version: str, stack: AsyncExitStack) -> None:
        self.version = version
        self._stack = stack
        self._places: dict[Flags, asyncio.Task[Place]] = {}
        self.turns = asyncio.Semaphore(_AT_ONCE)

    async def place(self, flags: Flags) -> Place:
        """Return the router with these flags, and start it if it is the first time."""
        if flags not in self._places:
            self._places[flags] = asyncio.create_task(self._open(flags))
        return await asyncio.shield(self._places[flags])

    @abstractmethod
    async def _open(self, flags: Flags) -> Place: ...


class FakeSite(Site):
    """Plays a release with the fake router."""

    async def _open(self, flags: Flags) -> Place:
        place = FakePlace(self.version, flags)
        place.url = await self._stack.enter_async_context(serve(place.router))
        return place


class RealSite(Site):
    """Runs a release from an isolated environment."""

    def __init__(
        self, version: str, stack: AsyncExitStack, releases: Process, told: dict[str, Any], folder: Path
    ) -> None:
        super().__init__(version, stack)
        self.told = told
        self._releases = releases
        self._turns = asyncio.Lock()
        self._folder = folder

    async def _open(self, flags: Flags) -> Place:
        log = self._folder / f"{self.version}-{len(self._places)}.log"
        place = RealPlace(self._releases, self._turns, self._stack, log, flags)
        await place.start()
        return place


@asynccontextmanager
async def released(version: str, folder: Path) -> AsyncIterator[RealSite]:
    """Run a release; its first line, which says what was loaded from where, is in `told`."""
    uv = shutil.which("uv")
    assert uv is not None, "uv runs the routers"
    package, requirement = ("smg", "smg==1.13.0") if version == SMG else ("sglang_router", f"sglang-router=={version}")
    python = "3.12" if version == "0.2.0" and sys.version_info[:2] > _NEWEST_OF_0_2_0 else sys.executable
    command = [uv, "run", "--quiet", "--isolated", "--no-project", "--python", python, "--with", requirement]
    command += [word for need in _NEEDS for word in ("--with", need)]
    command += ["python", str(HERE / "release_program.py"), package]
    async with Process.run(*command, may_complain=True) as releases, AsyncExitStack() as stack:
        async with asyncio.timeout(START_SECONDS):
            told = json.loads(await releases.line())
        yield RealSite(version, stack, releases, told, folder)
