"""What a delivered report costs a Worker, against a floor: a bare grpc.aio server that writes the same bytes.

Every cell runs a server and a client process of its own. The floor builds the same report from the same numbers once a
fire and writes it to every stream; it validates nothing, holds no lease and judges no deadline. "epoch" and "registration"
are the reporter with its two alignments: routers come one after another, so that by their registration each is read for
alone. "encode-each" is the floor with the report serialised anew for every stream.

    uv run python benchmarks/fanout.py            # the whole table, about 6 minutes
    uv run python benchmarks/fanout.py --short    # three cells, 2 seconds each

Figures: CPU microseconds of the server process per delivered report, and milliseconds from the reading of the source to
the router's receipt. The machine's noise is in them; the ratio in the last column is of the same run.
"""

import argparse
import asyncio
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import quantiles
from typing import Literal

import grpc.aio

from loadmonitor_proto import (
    KeepAlive,
    LoadReport,
    RankLoad,
    RegisterRequest,
    ReportStatus,
    RouterFrame,
    Worker,
    WorkerFrame,
)
from loadmonitor_proto.service import MONITOR_METHOD, add_load_monitor_servicer
from loadmonitor_worker import RankSnapshot, ReporterConfig, start_load_reporter
from loadmonitor_worker._report import ReportBuilder
from loadmonitor_worker._validate import validate_ranks
from loadmonitor_worker._verdict import Attempt, judge

INTERVAL_MS = 100
LEASE_MS = 60_000
ALIGNMENTS: dict[str, Literal["registration", "epoch"]] = {"epoch": "epoch", "registration": "registration"}
SERVERS = ("floor", "epoch", "registration", "encode-each")


def rank(dp_rank: int, stamp_ns: int) -> RankSnapshot:
    """Return a busy rank; its prefill total carries the moment of reading, in nanoseconds."""
    return RankSnapshot(
        dp_rank=dp_rank,
        snapshot_time_unix_ms=time.time_ns() // 1_000_000,
        num_running_reqs=100 + dp_rank,
        num_waiting_reqs=7,
        num_waiting_uncached_tokens=9_200,
        num_used_tokens=310_000,
        num_total_tokens=330_000,
        max_total_num_tokens=500_000,
        max_running_requests=512,
        token_usage=0.62,
        gen_throughput=2_310.5,
        cache_hit_rate=0.41,
        utilization=0.7,
        prefill_uncached_tokens_total=stamp_ns,
        prefill_busy_us_total=stamp_ns // 1_000,
    )


class Source:
    """Reads nothing: the benchmark is about what follows."""

    def __init__(self, dp_size: int) -> None:
        self._ranks = range(dp_size)

    def expected_dp_ranks(self) -> frozenset[int]:
        """Return every rank."""
        return frozenset(self._ranks)

    async def get_loads(self) -> Sequence[RankSnapshot]:
        """Return every rank, freshly stamped."""
        stamp_ns = time.monotonic_ns()
        return [rank(dp_rank, stamp_ns) for dp_rank in self._ranks]


class Floor:
    """A bare server: one task fires, every handler writes what it is handed; optionally encodes for itself."""

    def __init__(self, dp_size: int, *, encode_each: bool) -> None:
        self._source = Source(dp_size)
        self._encode_each = encode_each
        self._frame: bytes | WorkerFrame = b""
        self._next: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def Monitor(  # noqa: N802
        self,
        request_iterator: AsyncIterator[RouterFrame],
        context: "grpc.aio.ServicerContext[RouterFrame, WorkerFrame | bytes]",
    ) -> None:
        """Write every report to one router."""
        await anext(request_iterator)
        while True:
            await self._next
            await context.write(self._frame)

    async def fire(self) -> None:
        """Build a report each interval and wake the handlers."""
        names = list(RankSnapshot.__slots__)
        sequence_id = 0
        while True:
            await asyncio.sleep(INTERVAL_MS / 1_000)
            sequence_id += 1
            loads = await self._source.get_loads()
            report = LoadReport(
                source_instance_id="0" * 32,
                sequence_id=sequence_id,
                report_time_unix_ms=time.time_ns() // 1_000_000,
                worker=Worker(worker_addr="http://127.0.0.1:30000"),
                status=ReportStatus.REPORT_STATUS_HEALTHY,
                ranks=[RankLoad(**{name: getattr(load, name) for name in names}) for load in loads],
            )
            frame = WorkerFrame(report=report)
            self._frame = frame if self._encode_each else frame.SerializeToString()
            woken, self._next = self._next, asyncio.get_running_loop().create_future()
            if not woken.done():  # a router that hangs up cancels what its handler waits for
                woken.set_result(None)


def resident_kib() -> int:
    """Return this process's resident memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() // 1_024


async def serve(kind: str, dp_size: int) -> None:
    """Serve until standard input closes; answer each line on it with this process's CPU seconds and resident KiB."""
    loop = asyncio.get_running_loop()
    alignment = ALIGNMENTS.get(kind)
    if alignment is not None:
        reporter = await start_load_reporter(
            ReporterConfig(port=0, worker_addr="http://127.0.0.1:30000", alignment=alignment), Source(dp_size)
        )
        assert reporter is not None
        address = reporter.address
    else:
        floor = Floor(dp_size, encode_each=kind == "encode-each")
        server = grpc.aio.server()
        add_load_monitor_servicer(floor, server)
        address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
        await server.start()
        firing = loop.create_task(floor.fire())
        firing.add_done_callback(lambda task: task.cancelled() or task.result())
    print(address, flush=True)
    while await loop.run_in_executor(None, sys.stdin.readline):
        print(json.dumps({"cpu": time.process_time(), "rss_kib": resident_kib()}), flush=True)
    os._exit(0)


@dataclass(frozen=True, slots=True)
class Cell:
    """One measurement: which server, how many ranks and routers, and whether the routers acknowledge."""

    server: str
    ranks: int
    routers: int
    acknowledge: bool = False


@dataclass(frozen=True, slots=True)
class Figures:
    """What a cell came to."""

    delivered: int
    cpu_us: float
    p50_ms: float
    p99_ms: float
    rss_kib: int


class Server:
    """The server process of a cell; ask it for its CPU seconds and memory."""

    def __init__(self, kind: str, dp_size: int) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--serve", kind, "--ranks", str(dp_size)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        self.address = self._process.stdout.readline().strip()

    def usage(self) -> tuple[float, int]:
        """Return CPU seconds so far and resident KiB."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        return answer["cpu"], answer["rss_kib"]

    def stop(self) -> None:
        """End the process and wait for it."""
        self._process.communicate()


class Router:
    """A stream that keeps what it receives, with the moment of receipt, to be decoded after the measurement."""

    def __init__(self, address: str, number: int, *, acknowledge: bool) -> None:
        self._channel = grpc.aio.insecure_channel(address, options=[("grpc.use_local_subchannel_pool", 1)])
        self._call: grpc.aio.StreamStreamCall[bytes, bytes] = self._channel.stream_stream(MONITOR_METHOD)()
        self._number = number
        self._acknowledge = acknowledge
        self.received: list[tuple[int, bytes]] = []

    async def run(self) -> None:
        """Register and receive until cancelled."""
        register = RegisterRequest(
            router_id=f"router-{self._number}",
            report_interval_ms=INTERVAL_MS,
            lease_ttl_ms=LEASE_MS,
            max_unacked_reports=1 if self._acknowledge else None,
        )
        await self._call.write(RouterFrame(register=register).SerializeToString())
        while True:
            frame = await self._call.read()
            assert isinstance(frame, bytes)
            self.received.append((time.monotonic_ns(), frame))
            if self._acknowledge:
                report = WorkerFrame.FromString(frame).report
                if report.sequence_id:
                    keep_alive = KeepAlive(acked_sequence_id=report.sequence_id)
                    await self._call.write(RouterFrame(keep_alive=keep_alive).SerializeToString())

    def latencies_ms(self) -> list[float]:
        """Return the time from the reading of the source to the receipt of every report."""
        latencies = []
        for at_ns, frame in self.received:
            received = WorkerFrame.FromString(frame)
            if received.WhichOneof("payload") == "registered":  # of a router that got its turn late
                continue
            report = received.report
            assert report.ranks, f"a report without ranks: {report.last_error}"
            latencies.append((at_ns - report.ranks[0].prefill_uncached_tokens_total) / 1e6)
        return latencies

    async def close(self) -> None:
        """Hang up."""
        await self._channel.close()


async def measure(cell: Cell, seconds: float) -> Figures:
    """Run one cell: a second to warm up, then the measurement."""
    server = Server(cell.server, cell.ranks)
    routers = [Router(server.address, number, acknowledge=cell.acknowledge) for number in range(cell.routers)]
    running = [asyncio.create_task(router.run()) for router in routers]
    await asyncio.sleep(1)
    for router in routers:
        router.received.clear()
    cpu_before, _ = server.usage()
    await asyncio.sleep(seconds)
    cpu, rss_kib = server.usage()
    latencies = [latency for router in routers for latency in router.latencies_ms()]
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)
    await asyncio.gather(*(router.close() for router in routers))
    server.stop()
    cuts = quantiles(latencies, n=100)
    return Figures(len(latencies), (cpu - cpu_before) / len(latencies) * 1e6, cuts[49], cuts[98], rss_kib)


async def fan_out(cells: list[tuple[int, int]], seconds: float) -> None:
    """Print the floor, the reporter with and without acknowledgements, and the floor that encodes for each stream."""
    print(
        f"{'ranks':>5} {'routers':>7}  {'server':<16} {'reports':>8} {'cpu us':>7} {'p50 ms':>7} {'p99 ms':>7}  ratio"
    )
    for ranks, routers in cells:
        floor_us = 0.0
        for cell in (
            Cell("floor", ranks, routers),
            Cell("epoch", ranks, routers),
            Cell("epoch", ranks, routers, acknowledge=True),
            Cell("registration", ranks, routers),
            Cell("encode-each", ranks, routers),
        ):
            figures = await measure(cell, seconds)
            floor_us = floor_us or figures.cpu_us
            name = f"{cell.server}{' + acks' if cell.acknowledge else ''}"
            print(
                f"{ranks:>5} {routers:>7}  {name:<16} {figures.delivered:>8} {figures.cpu_us:>7.1f} "
                f"{figures.p50_ms:>7.2f} {figures.p99_ms:>7.2f}  {figures.cpu_us / floor_us:.2f}",
                flush=True,
            )


async def session_memory(sessions: int) -> None:
    """Print the resident memory that each of many sessions costs the reporter and the floor."""
    for kind in ("floor", "registration"):
        server = Server(kind, 8)
        _, empty_kib = server.usage()
        routers = [Router(server.address, number, acknowledge=False) for number in range(sessions)]
        running = [asyncio.create_task(router.run()) for router in routers]
        await asyncio.sleep(5)
        _, full_kib = server.usage()
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        await asyncio.gather(*(router.close() for router in routers))
        server.stop()
        print(f"{sessions} sessions, {kind}: {(full_kib - empty_kib) / sessions:.1f} KiB each")


def fire_cost(dp_size: int) -> None:
    """Print what one fire costs without any stream: validate, judge, build and serialise."""
    config = ReporterConfig(port=0)
    builder = ReportBuilder(config, "0" * 32)
    loads = asyncio.run(Source(dp_size).get_loads())
    expected = frozenset(range(dp_size))
    best = dict.fromkeys(("validate", "judge", "build"), float("inf"))
    for _ in range(200):
        start = time.perf_counter()
        ranks, _ = validate_ranks(loads, expected, clamp=False)
        validated = time.perf_counter()
        now_ms = time.time_ns() // 1_000_000
        verdict = judge(Attempt(ranks), now_unix_ms=now_ms, stale_after_ms=config.stale_after_ms)
        judged = time.perf_counter()
        builder.build(Attempt(ranks), verdict, now_unix_ms=now_ms, active_routers=1)
        built = time.perf_counter()
        for name, took in (("validate", validated - start), ("judge", judged - validated), ("build", built - judged)):
            best[name] = min(best[name], took)
    parts = ", ".join(f"{name} {took * 1e6:.0f} us" for name, took in best.items())
    print(f"fire at {dp_size} ranks: {sum(best.values()) * 1e6:.0f} us ({parts})")


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help="three cells, 2 seconds each")
    parser.add_argument("--serve", choices=SERVERS, help=argparse.SUPPRESS)
    parser.add_argument("--ranks", type=int, default=8, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        asyncio.run(serve(arguments.serve, arguments.ranks))
        return
    for dp_size in (8, 256):
        fire_cost(dp_size)
    if arguments.short:
        asyncio.run(fan_out([(8, 1), (8, 64), (64, 16)], 2))
        return
    asyncio.run(fan_out([(ranks, routers) for ranks in (1, 8, 64, 256) for routers in (1, 16, 64, 256)], 3))
    asyncio.run(session_memory(500))


if __name__ == "__main__":
    main()
