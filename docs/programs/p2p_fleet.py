"""Starts a fleet of real processes on 127.0.0.1, tells them what to do, and ends them: registry replicas, sources, pullers."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Self

import grpc.aio
from p2p_commands import MODEL

from p2p_registry import RegistryUnreachableError, SourceIdentity
from p2p_registry.client import ListedSource, RegistryClient
from p2p_registry.server import CHANNEL_OPTIONS

HERE = Path(__file__).parent
DEADLINE_SECONDS = 120.0
"""Longest that anything may take that ought to happen; a machine may be slow, but not forever."""
LOOK_SECONDS = 0.05
"""Between two looks at what a registry lists."""

Report = dict[str, Any]
Listed = Mapping[str, ListedSource]


class Program:
    """A process that answers commands.

    Attributes:
        name: Its worker's id.
        told: What it said when it had started.
    """

    def __init__(self, name: str, process: asyncio.subprocess.Process) -> None:
        """Take over a process; `started` tells when it answers."""
        self.name = name
        self.told: Report = {}
        self._process = process
        self._turn = asyncio.Lock()

    @classmethod
    async def start(cls, program: str, log: Path, **config: object) -> Self:
        """Start a program of this folder; what it writes to stderr goes to `log`."""
        with log.open("ab") as errors:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, str(HERE / program), json.dumps(config)),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=errors,
                limit=1 << 20,
            )
        return cls(str(config["worker_id"]), process)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    async def started(self) -> Self:
        """Wait until it has started."""
        self.told = await self._line()
        return self

    async def ask(self, do: str, **arguments: object) -> Report:
        """Give it a command, and return its answer."""
        async with self._turn:
            if self._process.stdin is None:
                raise RuntimeError("a process without the pipe that it was given")
            self._process.stdin.write(json.dumps({"do": do, **arguments}).encode() + b"\n")
            await self._process.stdin.drain()
            return await self._line()

    async def end(self) -> None:
        """Have it end in good order, and wait for that; kill it where it doesn't."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            async with asyncio.timeout(DEADLINE_SECONDS):
                await self._process.wait()
        except TimeoutError:
            await self.kill()

    async def kill(self) -> None:
        """End it as a lost machine does."""
        with suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()

    def terminate(self) -> None:
        """Send SIGTERM."""
        self._process.terminate()

    async def ended(self) -> int:
        """Wait for its end, and return how it ended."""
        async with asyncio.timeout(DEADLINE_SECONDS):
            return await self._process.wait()

    async def _line(self) -> Report:
        if self._process.stdout is None:
            raise RuntimeError("a process without the pipe that it was given")
        async with asyncio.timeout(DEADLINE_SECONDS):
            line = await self._process.stdout.readline()
        if not line:
            raise EOFError(f"{self.name} ended: {await self._process.wait()}")
        answer: Report = json.loads(line)
        return answer


class Fleet:
    """Replicas, sources and pullers, each a process.

    Attributes:
        replicas: Addresses of the registry's replicas.
        sources: The sources that run, by worker id.
        pullers: The pullers.
        pids: Of every process that it ever started.
    """

    def __init__(self, folder: Path, stack: AsyncExitStack) -> None:
        """Prepare an empty fleet, whose processes' files go into `folder`; `running` starts one."""
        self.log = folder / "stderr.log"
        self.replicas: list[str] = []
        self.sources: dict[str, Program] = {}
        self.pullers: list[Program] = []
        self.pids: list[int] = []
        self._folder = folder
        self._stack = stack
        self._clients: list[RegistryClient] = []
        self._servers: list[asyncio.subprocess.Process] = []

    @classmethod
    @asynccontextmanager
    async def running(cls, folder: Path, *, backend: str, replicas: int, pullers: int) -> AsyncIterator[Self]:
        """Start a fleet without sources; every process is gone afterwards."""
        async with AsyncExitStack() as stack:
            fleet = cls(folder, stack)
            try:
                await asyncio.gather(*(fleet._start_replica(backend) for _ in range(replicas)))
                for number in range(pullers):
                    fleet.pullers.append(await fleet._start("p2p_puller.py", f"puller-{number:02}", number))
                await asyncio.gather(*(puller.started() for puller in fleet.pullers))
                yield fleet
            finally:
                await asyncio.gather(*(each.end() for each in (*fleet.pullers, *fleet.sources.values())))
                for server in fleet._servers:
                    server.terminate()
                    await server.wait()

    async def start_sources(self, names: Iterable[str], *, publish: bool = True, **config: object) -> list[Program]:
        """Start sources all at once, and have them publish unless they shall wait with it."""
        made: list[Program] = []
        for name in names:
            folder = str(self._folder / name)
            self.sources[name] = await self._start("p2p_source.py", name, len(self.pids), folder=folder, **config)
            made.append(self.sources[name])
        await asyncio.gather(*(source.started() for source in made))
        if publish:
            await asyncio.gather(*(source.ask("publish") for source in made))
        return made

    async def stop_source(self, name: str) -> Report:
        """Have a source say goodbye, serve those that still pull, and end; return whom it served."""
        source = self.sources.pop(name)
        try:
            return await source.ask("stop")
        finally:
            await source.end()

    async def kill_source(self, name: str) -> None:
        """Kill a source."""
        await self.sources.pop(name).kill()

    async def all_sources(self, do: str, names: Iterable[str] | None = None, **arguments: object) -> dict[str, Report]:
        """Give a command to sources at once; return their answers by worker id."""
        asked = list(self.sources if names is None else names)
        answers = await asyncio.gather(*(self.sources[name].ask(do, **arguments) for name in asked))
        return dict(zip(asked, answers, strict=True))

    async def all_pullers(self, do: str, pullers: Iterable[Program] | None = None, **arguments: object) -> list[Report]:
        """Give a command to pullers at once; return their answers."""
        asked = self.pullers if pullers is None else pullers
        return await asyncio.gather(*(puller.ask(do, **arguments) for puller in asked))

    async def listed(self, replica: int = 0) -> dict[str, ListedSource]:
        """Return what a replica lists, by worker id."""
        listing = await self._clients[replica].list_sources(SourceIdentity(model_name=MODEL))
        return {source.worker_id: source for source in listing.sources}

    async def until_listed(self, what: str, shows: Callable[[Listed], bool]) -> None:
        """Wait until every replica's list shows what is awaited.

        Raises:
            TimeoutError: It didn't in time; the error says `what`, and what is listed instead.
        """
        for replica in range(len(self.replicas)):
            seen: dict[str, ListedSource] = {}
            try:
                async with asyncio.timeout(DEADLINE_SECONDS):
                    while True:
                        with suppress(RegistryUnreachableError):
                            seen = await self.listed(replica)
                            if shows(seen):
                                break
                        await asyncio.sleep(LOOK_SECONDS)
            except TimeoutError:
                loads = {name: source.source_load for name, source in sorted(seen.items())}
                raise TimeoutError(f"replica {replica} never showed {what}; it lists {loads}") from None

    async def _start_replica(self, backend: str) -> None:
        command = Path(sys.executable).with_name("p2p-registry")
        with self.log.open("ab") as errors:
            server = await asyncio.create_subprocess_exec(
                *(str(command), "serve", "--listen", "127.0.0.1:0", "--no-http-listen", "--backend", backend),
                stdout=asyncio.subprocess.PIPE,
                stderr=errors,
            )
        self._servers.append(server)
        self.pids.append(server.pid)
        if server.stdout is None:
            raise RuntimeError("a process without the pipe that it was given")
        async with asyncio.timeout(DEADLINE_SECONDS):
            said = (await server.stdout.readline()).decode()
        address = said.removeprefix("listening on ").strip()
        channel = await self._stack.enter_async_context(grpc.aio.insecure_channel(address, options=CHANNEL_OPTIONS))
        self.replicas.append(address)
        self._clients.append(RegistryClient(channel))

    async def _start(self, program: str, name: str, number: int, **config: object) -> Program:
        registry = self.replicas[number % len(self.replicas)]
        started = await Program.start(program, self.log, worker_id=name, registry=registry, **config)
        self.pids.append(started.pid)
        return started
