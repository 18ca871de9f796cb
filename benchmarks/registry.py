"""What a registry answers in a second, on each store, beside a server that does nothing.

The registry is the installed command in a process of its own; the floor is a grpc.aio server in another one whose answers lie ready.
All are asked by this process in turns, each over one connection on the loopback address. Redis is started here, for this alone.

    uv run python benchmarks/registry.py            # 1,000 and 10,000 sources, about a minute
    uv run python benchmarks/registry.py --short    # 1,000, under 15 s

Figures: heartbeats a second with 32 under way at once, in the best of several rounds, and the CPU microseconds of the server's
process for each, the median round's; milliseconds of ListSources, one at a time, median and 99th percentile, for one identity that
all sources share, and the CPU milliseconds of the server's process; and both CPU figures as multiples of the floor's. Redis' own CPU
is not in them.

Then microseconds of a heartbeat of a worker whose record has 1 kB and of one whose record has 1 MB, in turns, one at a time: they
must not differ, and this fails where the second takes half as long again.
"""

import argparse
import asyncio
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import grpc
import grpc.aio

from p2p_registry.server import CHANNEL_OPTIONS, SERVICE_NAME, RegistryStub
from p2p_registry.wire import (
    ListSourcesRequest,
    ListSourcesResponse,
    PublishMetadataRequest,
    SourceIdentity,
    SourceInstanceRef,
    SourceStatus,
    UpdateStatusRequest,
    UpdateStatusResponse,
    WorkerMetadata,
)

COMMAND = str(Path(sys.executable).with_name("p2p-registry"))
TESTS = Path(__file__).resolve().parents[1] / "packages/p2p-registry/tests"
AT_ONCE = 32
ROUNDS = 5
MOST_GROWTH = 1.5
IDENTITY = SourceIdentity(model_name="deepseek-ai/DeepSeek-V3", tensor_parallel_size=8)
READY = SourceStatus.SOURCE_STATUS_READY
LIST = ListSourcesRequest(identity=IDENTITY, status_filter=READY)


@contextmanager
def redis_url() -> Iterator[str]:
    """Run a Redis as the tests do, and yield its URL."""
    sys.path.append(str(TESTS))
    from redis_server import RedisServer  # noqa: PLC0415 - found only now

    with RedisServer() as server:
        yield f"redis://127.0.0.1:{server.port}"


@dataclass(frozen=True, slots=True)
class Server:
    """A running server.

    Attributes:
        name: What it stores in.
        address: Where it listens.
        pid: Its process.
    """

    name: str
    address: str
    pid: int

    def cpu_us(self) -> float:
        """Return the microseconds that its threads have run."""
        threads = Path(f"/proc/{self.pid}/task").glob("*/schedstat")
        return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e3


@contextmanager
def started(name: str, *command: str) -> Iterator[Server]:
    """Run a server that tells its address at the end of its first line."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            yield Server(name, process.stdout.readline().split()[-1], process.pid)
        finally:
            process.terminate()


def registry(name: str, url: str) -> AbstractContextManager[Server]:
    """Run the registry on a store."""
    return started(name, COMMAND, "serve", "--listen", "127.0.0.1:0", "--no-http-port", "--backend", url)


@asynccontextmanager
async def dialled(address: str) -> AsyncIterator[RegistryStub]:
    """Connect to a server."""
    async with grpc.aio.insecure_channel(address, CHANNEL_OPTIONS) as channel:
        yield RegistryStub(channel)


async def serve_floor(sources: int) -> None:
    """Answer heartbeats and listings of so many sources with what lies ready, until killed."""
    references = (
        SourceInstanceRef(
            mx_source_id="0" * 16,
            worker_id=f"worker-{number:08}",
            model_name=IDENTITY.model_name,
            accelerator="cuda",
            updated_at=time.time_ns() // 1_000_000,
            source_load=0.5,
        )
        for number in range(sources)
    )
    ready = {
        "UpdateStatus": UpdateStatusResponse(success=True, message="updated worker").SerializeToString(),
        "ListSources": ListSourcesResponse(instances=references).SerializeToString(),
    }

    def answering(answer: bytes) -> Callable[[object, object], Awaitable[bytes]]:
        async def method(request: object, context: object) -> bytes:
            del request, context
            return answer

        return method

    parsers = {"UpdateStatus": UpdateStatusRequest.FromString, "ListSources": ListSourcesRequest.FromString}
    handlers: dict[str, Any] = {
        name: grpc.unary_unary_rpc_method_handler(answering(ready[name]), request_deserializer=parse)
        for name, parse in parsers.items()
    }
    server = grpc.aio.server(options=CHANNEL_OPTIONS)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE_NAME, handlers),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    print(f"127.0.0.1:{port}", flush=True)
    await server.wait_for_termination()


async def at_once(jobs: Iterator[Awaitable[object]]) -> None:
    """Do the jobs, `AT_ONCE` at a time."""

    async def work() -> None:
        for job in jobs:
            await job

    await asyncio.gather(*(work() for _ in range(AT_ONCE)))


async def publish(stub: RegistryStub, worker_id: str, record_bytes: int) -> str:
    """Publish a worker whose record has about so many bytes, have it READY, and return its source id."""
    worker = WorkerMetadata(accelerator="cuda", nixl_metadata=bytes(record_bytes))
    answer = await stub.PublishMetadata(PublishMetadataRequest(identity=IDENTITY, worker=worker, worker_id=worker_id))
    assert answer.success, answer.message
    assert (await stub.UpdateStatus(heartbeat(answer.mx_source_id, worker_id))).success
    return answer.mx_source_id


def heartbeat(source_id: str, worker_id: str) -> UpdateStatusRequest:
    """Return a heartbeat."""
    return UpdateStatusRequest(mx_source_id=source_id, worker_id=worker_id, status=READY, source_load=0.5)


class Load:
    """What is done to one server, and what came of it."""

    def __init__(self, server: Server, stub: RegistryStub, sources: int) -> None:
        self.server = server
        self._stub = stub
        self._sources = sources
        self._source_id = "0" * 16
        self.rates: list[float] = []
        self.cpu_us: list[float] = []
        self.list_ms: list[float] = []
        self.list_cpu_ms: list[float] = []

    async def populate(self) -> None:
        """Publish the sources, each with a record of 1 kB."""
        if self.server.name != "floor":
            self._source_id = await publish(self._stub, "worker-00000000", 1_000)
            await at_once(publish(self._stub, f"worker-{number:08}", 1_000) for number in range(1, self._sources))

    async def beat(self, beats: int) -> None:
        """Send heartbeats of all workers in turn, and keep what that took."""
        requests = [heartbeat(self._source_id, f"worker-{number % self._sources:08}") for number in range(beats)]
        began, began_us = time.perf_counter(), self.server.cpu_us()
        await at_once(self._stub.UpdateStatus(request) for request in requests)
        self.rates.append(beats / (time.perf_counter() - began))
        self.cpu_us.append((self.server.cpu_us() - began_us) / beats)

    async def list(self) -> None:
        """List them all."""
        began, began_us = time.perf_counter(), self.server.cpu_us()
        listed = await self._stub.ListSources(LIST)
        self.list_ms.append((time.perf_counter() - began) * 1e3)
        self.list_cpu_ms.append((self.server.cpu_us() - began_us) / 1e3)
        assert len(listed.instances) == self._sources


async def measure(servers: Sequence[Server], sources: int, beats: int, lists: int) -> list[Load]:
    """Do the same to all servers, in turns."""
    async with AsyncExitStack() as stack:
        loads = [Load(server, await stack.enter_async_context(dialled(server.address)), sources) for server in servers]
        for load in loads:
            await load.populate()
            await load.beat(beats // 4)
            load.rates.clear()
            load.cpu_us.clear()
        for _ in range(ROUNDS):
            for load in loads:
                await load.beat(beats)
        for load in loads:
            await load.beat(sources)  # heartbeats older than 90 s would leave the list
        for _ in range(lists):
            for load in loads:
                await load.list()
        return loads


def rows(loads: Sequence[Load], sources: int) -> Iterator[str]:
    """Return the rows of the first table."""
    floor = loads[0]
    for load in loads:
        cpu_us, list_cpu_ms = median(load.cpu_us), median(load.list_cpu_ms)
        yield (
            f"{load.server.name:6}  {sources:7}  {max(load.rates):12.0f}  {cpu_us:6.0f}  {cpu_us / median(floor.cpu_us):8.2f}"
            f"  {median(load.list_ms):11.1f}  {quantiles(load.list_ms, n=100)[-1]:6.1f}  {list_cpu_ms:6.1f}"
            f"  {list_cpu_ms / median(floor.list_cpu_ms):8.2f}"
        )


async def beat_us(address: str, rounds: int) -> tuple[float, float]:
    """Return the median microseconds of a heartbeat beside a record of 1 kB and one of 1 MB."""
    taken: dict[str, list[float]] = {"small": [], "large": []}
    async with dialled(address) as stub:
        source_id = await publish(stub, "small", 1_000)
        await publish(stub, "large", 1_000_000)
        for _ in range(rounds):
            for worker_id, times in taken.items():
                began = time.perf_counter()
                await stub.UpdateStatus(heartbeat(source_id, worker_id))
                times.append((time.perf_counter() - began) * 1e6)
    return median(taken["small"]), median(taken["large"])


def main() -> int:
    """Print the tables; return 1 where a heartbeat's cost grows with the record."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--short", action="store_true", help="under 15 s")
    arguments.add_argument("--floor", type=int, help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.floor is not None:
        asyncio.run(serve_floor(given.floor))
    beats, lists, turns = (600, 20, 200) if given.short else (3_000, 30, 2_000)
    grown = False
    growths = []
    print("store   sources  heartbeats/s  cpu us  of floor  list p50 ms  p99 ms  cpu ms  of floor")
    with redis_url() as redis:
        for sources in (1_000,) if given.short else (1_000, 10_000):
            with (
                started("floor", sys.executable, __file__, "--floor", str(sources)) as floor,
                registry("memory", "memory") as in_memory,
                registry("redis", f"{redis}/{sources // 1_000}") as in_redis,
            ):
                loads = asyncio.run(measure((floor, in_memory, in_redis), sources, beats, lists))
            print(*rows(loads, sources), sep="\n")
        for name, url in (("memory", "memory"), ("redis", redis)):
            with registry(name, url) as server:
                small, large = asyncio.run(beat_us(server.address, turns))
            growths.append(f"{name:6}  {small:14.0f}  {large:14.0f}  {large / small:5.2f}")
            grown |= large > small * MOST_GROWTH
    print("\nstore   us beside 1 kB  us beside 1 MB  ratio", *growths, sep="\n")
    return int(grown)


if __name__ == "__main__":
    sys.exit(main())
