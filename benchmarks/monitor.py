"""What a router pays to know the load of its fleet: LoadMonitor against polling every worker over HTTP.

A server process plays the workers, each on a port of its own with 8 ranks; only the CPU of this process, the router's,
counts. "monitor" is LoadMonitor, with acknowledgements, validation, aggregates and ages. "/v1/loads" and "/metrics" are
polls by httpx over connections that are kept alive, a client for each worker (a shared pool searches all its connections for
each request), each body parsed (json; prometheus-client's parser) and its load
gauges picked out, and nothing validated. All three at one cadence, each second, spread over the interval.

    uv run python benchmarks/monitor.py            # 10, 100 and 1,000 workers, about 90 seconds
    uv run python benchmarks/monitor.py --short    # 10 and 50 workers, 2 seconds a cell

"cpu us" is CPU microseconds per report or poll, "x monitor" how many times what the monitor takes in the same run. A poller
that can't keep up shows fewer polls than workers times seconds. The last columns are a router's reading: `snapshot()`,
`fresh_load(url)`, and a snapshot with every Worker in it looked at.
"""

import argparse
import asyncio
import json
import os
import ssl
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from functools import partial
from typing import Any

import grpc.aio
import httpx
from prometheus_client.parser import text_string_to_metric_families

import loadmonitor_proto as wire
from loadmonitor_proto.service import add_load_monitor_servicer
from loadmonitor_router import Freshness, LoadMonitor, WorkerTarget

INTERVAL_SECONDS = 1.0
RANKS = 8
POLLED = ("/v1/loads", "/metrics")
GAUGES: dict[str, Any] = {
    "num_running_reqs": 112,
    "num_waiting_reqs": 7,
    "num_waiting_uncached_tokens": 9_200,
    "num_used_tokens": 310_000,
    "num_total_tokens": 330_000,
    "max_total_num_tokens": 500_000,
    "max_running_requests": 512,
    "token_usage": 0.62,
    "gen_throughput": 2_310.5,
    "cache_hit_rate": 0.41,
    "utilization": 0.7,
}
OTHER_GAUGES = [f"engine_gauge_{number}" for number in range(12)]
HISTOGRAMS = [f"engine_{name}_seconds" for name in ("time_to_first_token", "inter_token_latency", "e2e", "queue_time")]
BUCKETS = 20


def loads_body() -> bytes:
    """Return what an engine answers to /v1/loads."""
    return json.dumps(
        {"timestamp": time.time(), "loads": [{"dp_rank": rank, **GAUGES} for rank in range(RANKS)]}
    ).encode()


def metrics_body() -> bytes:
    """Return what an engine answers to /metrics: every gauge per rank, and four histograms that all ranks share."""
    lines: list[str] = []
    for name in [*GAUGES, *OTHER_GAUGES]:
        lines += [f"# HELP engine:{name} {name}.", f"# TYPE engine:{name} gauge"]
        value = GAUGES.get(name, 1.0)
        lines += [f'engine:{name}{{dp_rank="{rank}",model_name="m"}} {value}' for rank in range(RANKS)]
    for name in HISTOGRAMS:
        lines += [f"# HELP engine:{name} {name}.", f"# TYPE engine:{name} histogram"]
        lines += [
            f'engine:{name}_bucket{{le="{bound / 10}",model_name="m"}} {bound * 100}.0' for bound in range(BUCKETS)
        ]
        lines += [f'engine:{name}_bucket{{le="+Inf",model_name="m"}} 2000.0']
        lines += [f'engine:{name}_sum{{model_name="m"}} 812.5', f'engine:{name}_count{{model_name="m"}} 2000.0']
    return "\n".join([*lines, ""]).encode()


class Worker:
    """A load reporter that honours acknowledgements: due each interval, and skipping one without credit."""

    async def Monitor(  # noqa: N802
        self,
        request_iterator: AsyncIterator[wire.RouterFrame],
        context: "grpc.aio.ServicerContext[wire.RouterFrame, wire.WorkerFrame | bytes]",
    ) -> None:
        """Serve one router."""
        await anext(request_iterator)
        granted = wire.RegisterResponse(
            lease_ttl_ms=15_000,
            renew_after_ms=5_000,
            report_interval_ms=int(INTERVAL_SECONDS * 1_000),
            stale_after_ms=3_000,
            source_instance_id="a",
            min_report_interval_ms=10,
            max_lease_ttl_ms=300_000,
        )
        await context.write(wire.WorkerFrame(registered=granted))
        credit = asyncio.Event()
        credit.set()
        reporting = asyncio.create_task(self._report(context, credit))
        async for frame in request_iterator:
            if frame.keep_alive.HasField("acked_sequence_id"):
                credit.set()
        reporting.cancel()

    async def _report(
        self, context: "grpc.aio.ServicerContext[wire.RouterFrame, wire.WorkerFrame | bytes]", credit: asyncio.Event
    ) -> None:
        ranks = [
            wire.RankLoad(dp_rank=rank, prefill_uncached_tokens_total=rank, prefill_busy_us_total=rank, **GAUGES)
            for rank in range(RANKS)
        ]
        for sequence_id in range(1, sys.maxsize):
            if credit.is_set():
                credit.clear()
                now_ms = time.time_ns() // 1_000_000
                for rank in ranks:
                    rank.snapshot_time_unix_ms = now_ms
                report = wire.LoadReport(
                    source_instance_id="a",
                    sequence_id=sequence_id,
                    report_time_unix_ms=now_ms,
                    status=wire.ReportStatus.REPORT_STATUS_HEALTHY,
                    ranks=ranks,
                    max_snapshot_age_ms=0,
                )
                await context.write(wire.WorkerFrame(report=report))
            await asyncio.sleep(INTERVAL_SECONDS)


async def answer(body: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer every request on one HTTP connection with the body."""
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\nContent-Type: text/plain\r\n\r\n".encode()
    with suppress(ConnectionError):  # the poller has hung up
        while await reader.readline():
            while (await reader.readline()).strip():
                pass
            writer.write(head + body)
            await writer.drain()
    writer.close()


async def serve(kind: str, workers: int) -> None:
    """Play so many workers until standard input closes; print their addresses."""
    ports: list[int] = []
    if kind == "monitor":
        server = grpc.aio.server(options=[("grpc.so_reuseport", 0)])
        add_load_monitor_servicer(Worker(), server)
        ports = [server.add_insecure_port("127.0.0.1:0") for _ in range(workers)]
        await server.start()
    else:
        body = loads_body() if kind == "/v1/loads" else metrics_body()
        for _ in range(workers):
            listening = await asyncio.start_server(partial(answer, body), "127.0.0.1", 0)
            ports.append(listening.sockets[0].getsockname()[1])
    print(json.dumps([f"127.0.0.1:{port}" for port in ports]), flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    os._exit(0)


class Workers:
    """The process that plays the workers of one cell."""

    def __init__(self, kind: str, workers: int) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--serve", kind, "--workers", str(workers)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        self.addresses: list[str] = json.loads(self._process.stdout.readline())

    def stop(self) -> None:
        """End the process and wait for it."""
        self._process.communicate()


def per_call_us(call: Callable[[], object], calls: int) -> float:
    """Return the CPU microseconds of one call."""
    start = time.thread_time_ns()  # gRPC's threads go on meanwhile
    for _ in range(calls):
        call()
    return (time.thread_time_ns() - start) / calls / 1_000


async def measure_monitor(workers: int, seconds: float) -> tuple[int, float, str]:
    """Return reports, CPU microseconds for each, and what reading costs."""
    playing = Workers("monitor", workers)
    targets = [
        WorkerTarget(url=f"http://w{number}:30000", reporter=address)
        for number, address in enumerate(playing.addresses)
    ]
    async with LoadMonitor(router_id="bench") as monitor:
        monitor.reconcile(targets)
        async for snapshot in monitor.changes():
            if all(load.freshness is Freshness.FRESH for load in snapshot.workers.values()):
                break
            await asyncio.sleep(0.2)
        await asyncio.sleep(INTERVAL_SECONDS)
        cpu, received = time.process_time(), monitor.stats.reports_total
        await asyncio.sleep(seconds)
        cpu, received = time.process_time() - cpu, monitor.stats.reports_total - received
        one = per_call_us(monitor.snapshot, 2_000)
        fresh = per_call_us(lambda: monitor.fresh_load(targets[0].url), 2_000)
        every = per_call_us(lambda: list(monitor.snapshot().workers.values()), 20)
        if any(load.freshness is not Freshness.FRESH for load in monitor.snapshot().workers.values()):
            print("  not every worker is fresh: this machine is too busy for these figures")
    playing.stop()
    return received, cpu / received * 1e6, f"{one:>9.2f} {fresh:>8.2f} {every:>9.0f}"


def parse_loads(body: str) -> list[dict[str, Any]]:
    """Return the ranks of a /v1/loads body."""
    return [{name: load[name] for name in GAUGES} for load in json.loads(body)["loads"]]


def parse_metrics(body: str) -> list[dict[str, float]]:
    """Return the ranks of a /metrics body."""
    ranks: list[dict[str, float]] = [{} for _ in range(RANKS)]
    wanted = {f"engine:{name}" for name in GAUGES}
    for family in text_string_to_metric_families(body):
        if family.name in wanted:
            for sample in family.samples:
                ranks[int(sample.labels["dp_rank"])][sample.name] = sample.value
    return ranks


class Poller:
    """Polls each worker at the cadence, and counts."""

    def __init__(self, path: str, workers: int) -> None:
        self._path = path
        self._ssl = ssl.create_default_context()  # one for all: to make it takes longer than many polls
        self._parse: Callable[[str], object] = parse_loads if path == "/v1/loads" else parse_metrics
        self.latest: dict[str, object] = {}
        self.polls = 0
        self.all_connected = asyncio.Event()
        self._workers = workers

    async def poll(self, address: str, phase: float) -> None:
        """Poll one worker until cancelled."""
        await asyncio.sleep(phase * INTERVAL_SECONDS)
        due = time.monotonic()
        async with httpx.AsyncClient(timeout=60, trust_env=False, verify=self._ssl) as client:
            while True:
                response = await client.get(f"http://{address}{self._path}")
                self.latest[address] = self._parse(response.text)
                self.polls += 1
                if len(self.latest) == self._workers:
                    self.all_connected.set()
                due = max(due + INTERVAL_SECONDS, time.monotonic())
                await asyncio.sleep(due - time.monotonic())


async def measure_polling(path: str, workers: int, seconds: float) -> tuple[int, float]:
    """Return polls, and CPU microseconds for each."""
    playing = Workers(path, workers)
    poller = Poller(path, workers)
    polling = [
        asyncio.create_task(poller.poll(address, number / workers)) for number, address in enumerate(playing.addresses)
    ]
    await poller.all_connected.wait()
    cpu, polls = time.process_time(), poller.polls
    await asyncio.sleep(seconds)
    cpu, polls = time.process_time() - cpu, poller.polls - polls
    for task in polling:
        task.cancel()
    await asyncio.gather(*polling, return_exceptions=True)
    playing.stop()
    return polls, cpu / polls * 1e6


async def compare(sizes: list[int], seconds: float) -> None:
    """Print the three ways at each size."""
    print(f"bodies of {RANKS} ranks: /v1/loads {len(loads_body())} bytes, /metrics {len(metrics_body())} bytes")
    print(
        f"{'workers':>7}  {'way':<10} {'reports':>8} {'cpu us':>8} {'x monitor':>10}  "
        f"{'snapshot':>9} {'fresh':>8} {'all':>9} us"
    )
    for workers in sizes:
        received, monitor_us, reading = await measure_monitor(workers, seconds)
        print(f"{workers:>7}  {'monitor':<10} {received:>8} {monitor_us:>8.0f} {1:>10.1f}  {reading}", flush=True)
        for path in POLLED:
            polls, cpu_us = await measure_polling(path, workers, seconds)
            print(f"{workers:>7}  {path:<10} {polls:>8} {cpu_us:>8.0f} {cpu_us / monitor_us:>10.1f}", flush=True)


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help="10 and 50 workers, 2 seconds a cell")
    parser.add_argument("--serve", choices=("monitor", *POLLED), help=argparse.SUPPRESS)
    parser.add_argument("--workers", type=int, default=10, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        asyncio.run(serve(arguments.serve, arguments.workers))
    elif arguments.short:
        asyncio.run(compare([10, 50], 2))
    else:
        asyncio.run(compare([10, 100, 1_000], 10))


if __name__ == "__main__":
    main()
