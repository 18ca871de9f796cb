"""One simulated weight source, a process: a NIC whose counters run, an engine with /metrics, heartbeats, and bytes to pull.

    uv run python docs/programs/p2p_source.py '{"worker_id": "decode-0", "registry": "127.0.0.1:8001", "folder": "/tmp/decode-0"}'

It answers each line of its stdin, a JSON object `{"do": COMMAND, ...}`, with one of its stdout, and ends when stdin does. What is
simulated are the counters and the engine; whatever reads, publishes or sends is real.
"""

import asyncio
import json
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc.aio
from p2p_commands import MODEL, answer_commands, tell

from nic_metrics import NicSignal, PortId
from nic_metrics.source_load import make_source_load_provider
from p2p_registry import PublisherSettings, PublisherState, Registration, SourceIdentity
from p2p_registry.publisher import SourcePublisher
from p2p_registry.server import CHANNEL_OPTIONS, RegistryStub
from p2p_registry.wire import SourceStatus, WorkerMetadata

DEVICE = "mlx5_0"
LINK_BYTES_PER_SECOND = 50e9
_BROKEN_OFF = ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError
"""How a connection's handler ends early: by the peer, or, the last one, by the end of the process."""
CHUNKS = 10
"""Pieces in which a pull is sent; the pauses between them bound its rate."""


@dataclass(frozen=True, kw_only=True)
class SourceConfig:
    """What a source is told when it starts.

    Attributes:
        worker_id: Its id; a new life has a new one.
        registry: Address of the registry's replica that it publishes to.
        folder: Where its NIC's files are written.
        port: Where it is pulled from; 0 for any free one.
        heartbeat_seconds: Between two heartbeats.
        scrape_seconds: Between two looks at the engine's /metrics.
        usage: Share of the engine's KV cache in use, 0 to 1; None for an engine that doesn't tell.
        pull_seconds: How long a pull takes at the least.
        pull_bytes: How long it is.
        pull_share: What one pull takes of the NIC, 0 to 1: the counters count that much more than what is really sent.
    """

    worker_id: str
    registry: str
    folder: str
    port: int = 0
    heartbeat_seconds: float = 0.5
    scrape_seconds: float = 0.25
    usage: float | None = 0.0
    pull_seconds: float = 0.5
    pull_bytes: int = 64_000
    pull_share: float = 1 / 512


class SimulatedNic:
    """A port's files as sysfs has them, in a folder; its counters are brought up to date before they are read.

    Attributes:
        moved_bytes: What its counters count.
        background: Share of the link that somebody else's traffic takes, 0 to 1.
        up: Whether its link is up; a port that is down tells no load.
    """

    def __init__(self, root: Path) -> None:
        """Write a port of 400 Gb/s that has moved nothing."""
        self.root = root
        self.moved_bytes = 0.0
        self.background = 0.0
        self.up = True
        self._written = time.monotonic()
        self._port = root / DEVICE / "ports" / "1"
        (self._port / "counters").mkdir(parents=True)
        for name, text in (("link_layer", "InfiniBand\n"), ("rate", "400 Gb/sec (4X NDR)\n")):
            (self._port / name).write_text(text)
        self.write()

    def write(self) -> None:
        """Bring the files up to date."""
        since, self._written = self._written, time.monotonic()
        self.moved_bytes += self.background * LINK_BYTES_PER_SECOND * (self._written - since)
        for name, text in (
            ("state", "4: ACTIVE\n" if self.up else "1: DOWN\n"),
            ("phys_state", "5: LinkUp\n" if self.up else "3: Disabled\n"),
            ("counters/port_xmit_data", f"{int(self.moved_bytes) // 4}\n"),  # in words of 4 octets
            ("counters/port_rcv_data", "0\n"),
        ):
            (self._port / name).write_text(text)


class Pulls:
    """Serves bytes over TCP, and counts who pulls; this is the truth that pullers' reports are compared with."""

    def __init__(self, config: SourceConfig, nic: SimulatedNic) -> None:
        """Serve nobody yet."""
        self._config = config
        self._nic = nic
        self._changed = asyncio.Condition()
        self.now = 0
        self.seconds = config.pull_seconds
        self.forget()

    def forget(self) -> None:
        """Begin to count anew."""
        self.most = self.now
        self.begun: list[str] = []
        self.done: list[str] = []
        self.refused: list[str] = []

    async def at_least(self, count: int) -> None:
        """Wait until so many pulls are under way at once."""
        async with self._changed:
            await self._changed.wait_for(lambda: self.now >= count)

    async def none(self) -> None:
        """Wait until nobody pulls."""
        async with self._changed:
            await self._changed.wait_for(lambda: self.now == 0)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one puller."""
        with suppress(*_BROKEN_OFF):
            wanted = json.loads(await reader.readuntil(b"\n"))
            if wanted["worker_id"] != self._config.worker_id:
                # Another process had this port before, and its record is still listed.
                self.refused.append(wanted["puller"])
                writer.write(json.dumps({"worker_id": self._config.worker_id, "bytes": None}).encode() + b"\n")
            else:
                await self._send(writer, wanted["puller"])
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

    async def _send(self, writer: asyncio.StreamWriter, puller: str) -> None:
        config, seconds = self._config, self.seconds
        await self._count(1)
        self.most = max(self.most, self.now)
        self.begun.append(puller)
        chunk = bytes(config.pull_bytes // CHUNKS)
        scale = config.pull_share * LINK_BYTES_PER_SECOND * seconds / (len(chunk) * CHUNKS)
        try:
            writer.write(json.dumps({"worker_id": config.worker_id, "bytes": len(chunk) * CHUNKS}).encode() + b"\n")
            for _ in range(CHUNKS):
                # After a stall it isn't made up for: the rate is bounded at every moment.
                await asyncio.sleep(seconds / CHUNKS)
                writer.write(chunk)
                await writer.drain()
                self._nic.moved_bytes += len(chunk) * scale
            self.done.append(puller)
        finally:
            await self._count(-1)

    async def _count(self, more: int) -> None:
        async with self._changed:
            self.now += more
            self._changed.notify_all()


class Source:
    """A source and the commands that it takes."""

    def __init__(self, config: SourceConfig) -> None:
        """Prepare its NIC and its engine; nothing is published."""
        self.config = config
        self.usage = config.usage
        self.nic = SimulatedNic(Path(config.folder))
        self.pulls = Pulls(config, self.nic)
        self._publisher: SourcePublisher | None = None
        self._lying: asyncio.Task[None] | None = None

    async def open(self) -> str:
        """Listen, and return where it is pulled from."""
        engine = await asyncio.start_server(self._engine, "127.0.0.1", 0)
        pulled = await asyncio.start_server(self.pulls.serve, "127.0.0.1", self.config.port)
        self._servers = engine, pulled
        endpoint = f"127.0.0.1:{pulled.sockets[0].getsockname()[1]}"
        self._provider = make_source_load_provider(
            NicSignal([PortId(DEVICE)], root=self.config.folder),
            metrics_url=f"http://127.0.0.1:{engine.sockets[0].getsockname()[1]}/metrics",
            scrape_interval_seconds=self.config.scrape_seconds,
        )
        self._registration = Registration(
            identity=SourceIdentity(model_name=MODEL),
            metadata=WorkerMetadata(worker_grpc_endpoint=endpoint, accelerator="cuda"),
            worker_id=self.config.worker_id,
        )
        self._channel = grpc.aio.insecure_channel(self.config.registry, options=CHANNEL_OPTIONS)
        return endpoint

    async def do(self, command: Mapping[str, Any]) -> dict[str, Any]:
        """Carry out a command, and return whom it served since the count began.

        `publish`; `hide` (say goodbye); `stop` (the same, and wait for those that still pull); `become` (`usage` of the KV cache, and of
        the NIC `background` and whether its `link` is up; `pull_seconds`; what isn't given is as at rest); `lie` (say READY with this
        `load`, so many `beats` or for good); `await_pulls` (until a `count` is under way at once); `counts` (and count anew).
        """
        what = command["do"]
        if what == "publish":
            await self._publish()
        elif what == "become":
            self.usage = command.get("usage", 0.0)
            self.nic.background = command.get("background", 0.0)
            self.nic.up = command.get("link", True)
            self.pulls.seconds = command.get("pull_seconds", self.config.pull_seconds)
        elif what == "lie":
            await self._lie(command["load"], command.get("beats"))
        elif what == "counts":
            counted = self.counts()
            self.pulls.forget()
            return counted
        elif what == "await_pulls":
            await self.pulls.at_least(command["count"])
        elif what == "hide":
            await self._stop_telling()
        elif what == "stop":
            await self._stop_telling()
            await self.pulls.none()
        else:
            raise ValueError(f"there is no command {what!r}")
        return self.counts()

    def counts(self) -> dict[str, Any]:
        """Return who pulled since the count began."""
        pulls = self.pulls
        return {
            "now": pulls.now,
            "most": pulls.most,
            "begun": pulls.begun,
            "done": pulls.done,
            "refused": pulls.refused,
        }

    def _load(self) -> float | None:
        self.nic.write()
        return self._provider()

    async def _publish(self) -> None:
        await self._stop_telling()
        ready = asyncio.Event()

        def on_change(state: PublisherState, reason: str) -> None:
            del reason
            if state is PublisherState.READY:
                ready.set()

        settings = PublisherSettings(heartbeat_seconds=self.config.heartbeat_seconds, retry_seconds=0.25)
        self._publisher = SourcePublisher(
            self._channel, self._registration, provider=self._load, settings=settings, on_change=on_change
        )
        await self._publisher.start()
        await ready.wait()

    async def _lie(self, load: float | None, beats: int | None) -> None:
        """Say READY with this load, however wrong, so many times or for good, as a publisher of somebody else's could."""
        await self._stop_telling()
        stub = RegistryStub(self._channel)
        source_id = (await stub.PublishMetadata(self._registration.publication())).mx_source_id
        update = self._registration.update(source_id, SourceStatus.SOURCE_STATUS_READY, load)
        await stub.UpdateStatus(update)

        async def go_on() -> None:
            told = 1
            while beats is None or told < beats:
                await asyncio.sleep(self.config.heartbeat_seconds)
                await stub.UpdateStatus(update)
                told += 1

        self._lying = asyncio.create_task(go_on())

    async def _stop_telling(self) -> None:
        if self._lying is not None:
            self._lying.cancel()
            await asyncio.wait({self._lying})
            self._lying = None
        if self._publisher is not None:
            await self._publisher.stop()
            self._publisher = None

    async def close(self) -> None:
        """Say goodbye, and let go of everything."""
        await self._stop_telling()
        self._provider.close()
        for server in self._servers:
            server.close()
        await self._channel.close()

    async def _engine(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(*_BROKEN_OFF):
            await reader.readuntil(b"\r\n\r\n")
            body = b"# an engine that is still loading\n"
            if self.usage is not None:
                body = f'vllm:kv_cache_usage_perc{{engine="0"}} {self.usage}\n'.encode()
            head = f"HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {len(body)}\r\n\r\n"
            writer.write(head.encode() + body)
            await writer.drain()
        writer.close()


async def main(config: SourceConfig) -> None:
    """Say where it is pulled from, and answer commands until there are no more."""
    source = Source(config)
    tell({"endpoint": await source.open()})
    await answer_commands(source.do)
    await source.close()


if __name__ == "__main__":
    asyncio.run(main(SourceConfig(**json.loads(sys.argv[1]))))
