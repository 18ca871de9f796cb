"""What reporting costs an engine: an asyncio server under 500 requests a second, without it and with it in three places.

The engine streams a few chunks for each request, and a process beside it publishes the load of 8 ranks as SGLang's schedulers
do. "embedded" reports on the engine's own event loop; "epoch" does too, to routers that share reads; "thread" by ReporterThread
in the engine's process; "sidecar" by `loadmonitor-worker serve` in a process of its own: each to 16 routers at 10 Hz that
acknowledge, reading the same file. "off" has none of it. The engine has a core for itself where there are two; whoever
asks, receives and reports beside it shares the rest.

    uv run python benchmarks/engine_impact.py            # ten rounds of three seconds each, about five minutes
    uv run python benchmarks/engine_impact.py --short    # one round of two seconds each

Figures: how late the engine's event loop runs a timer that is due each 2 ms, in milliseconds. "own" is that part of it in which the
engine's process ran, rather than wait for a core that other programs had: the lesser of the delay and of the process's CPU
time since the timer before; the median of the rounds, of "max" the greatest. "all" is the whole delay, and beside it how long a request
takes, each in the round that other work disturbed least. "+" is what comes on top of "off". CPU is that of the reporting, in
percent of one core: what the engine's process takes on top of "off", or the sidecar's process. Fails where embedded reporting
takes more than 25 % of a core, which no busy machine explains.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, closing, contextmanager, suppress
from pathlib import Path
from statistics import median, quantiles

import grpc.aio

from loadmonitor_proto import KeepAlive, RegisterRequest, RouterFrame, WorkerFrame
from loadmonitor_proto.service import LoadMonitorStub
from loadmonitor_worker import ReporterConfig, start_load_reporter
from loadmonitor_worker.integrations import ReporterThread
from loadmonitor_worker.sources import SglangShmSource

MODES = ("off", "embedded", "epoch", "thread", "sidecar")
RANKS = 8
ROUTERS = 16
INTERVAL_MS = 100
REQUESTS_PER_SECOND = 500
CONNECTIONS = 32
CHUNKS = 4
CHUNK_SECONDS = 0.005
TICK_SECONDS = 0.002
MOST_CPU_PERCENT = 25.0
COMMAND = str(Path(sys.executable).with_name("loadmonitor-worker"))
SERVE = ("serve", "--source", "sglang-shm", "--listen", "127.0.0.1:0", "--log-level", "error")
Figures = dict[str, float]


class Engine:
    """Answers each line with a few chunks, and notes how late its event loop is."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._late: list[float] = []
        self._own: list[float] = []
        self._cpu = self._started = self._cpu_at_tick = 0.0
        self._due = self._loop.time()
        self._tick()

    def _tick(self) -> None:
        now = self._loop.time()
        before, self._cpu_at_tick = self._cpu_at_tick, time.process_time()
        self._late.append(now - self._due)
        self._own.append(min(now - self._due, self._cpu_at_tick - before))
        self._due = now + TICK_SECONDS
        self._loop.call_at(self._due, self._tick)

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection until it closes."""
        with suppress(ConnectionError), closing(writer):
            await self._serve(reader, writer)

    @staticmethod
    async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            request = json.loads(line)
            for chunk in range(CHUNKS):
                await asyncio.sleep(CHUNK_SECONDS)
                writer.write(
                    json.dumps({"id": request["id"], "text": f"token {chunk}", "left": CHUNKS - chunk}).encode() + b"\n"
                )

    def figures(self) -> Figures:
        """Return what was noted since the last call."""
        late, self._late = self._late, []
        own, self._own = self._own, []
        before, self._cpu = self._cpu, time.process_time()
        started, self._started = self._started, time.monotonic()
        cuts = quantiles(own, n=100)
        return {
            "p50": cuts[49] * 1e3,
            "p99": cuts[98] * 1e3,
            "max": max(own) * 1e3,
            "all": quantiles(late, n=100)[98] * 1e3,
            "cpu": (self._cpu - before) / (self._started - started) * 100,
        }


async def run_engine(mode: str, file: Path) -> None:
    """Serve until standard input closes; answer each line on it with the figures since the last."""
    engine = Engine()
    server = await asyncio.start_server(engine.connected, "127.0.0.1", 0)
    config = ReporterConfig(port=0, alignment="epoch" if mode == "epoch" else "registration")
    async with AsyncExitStack() as stack:
        address = None
        if mode in ("embedded", "epoch"):
            reporter = await start_load_reporter(config, SglangShmSource(file))
            assert reporter is not None
            address = (await stack.enter_async_context(reporter)).address
        elif mode == "thread":
            address = (await stack.enter_async_context(ReporterThread(config, lambda: SglangShmSource(file)))).address
        print(json.dumps({"port": server.sockets[0].getsockname()[1], "reporter": address}), flush=True)
        while await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline):
            print(json.dumps(engine.figures()), flush=True)
    server.close()


@contextmanager
def process(*command: str, core: int | None = None) -> Iterator["subprocess.Popen[str]"]:
    """Run a command that talks by lines, on a core of its own if one is named."""
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    if core is not None:
        os.sched_setaffinity(child.pid, {core})
    try:
        yield child
    finally:
        child.terminate()
        child.communicate()


def line_of(child: "subprocess.Popen[str]") -> str:
    """Return the next line that a process prints."""
    assert child.stdout is not None
    return child.stdout.readline().strip()


def ask(child: "subprocess.Popen[str]") -> Figures:
    """Return the engine's figures since it was asked last."""
    assert child.stdin is not None
    child.stdin.write("\n")
    child.stdin.flush()
    figures: Figures = json.loads(line_of(child))
    return figures


def cpu_seconds(pid: int) -> float:
    """Return what a process has taken so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def send_requests(port: int, took: list[float]) -> None:
    """Send one connection's part of the requests at its rate until cancelled, and note how long each took."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    loop = asyncio.get_running_loop()
    due, number = loop.time(), 0
    try:
        while True:
            due = max(due + CONNECTIONS / REQUESTS_PER_SECOND, loop.time())
            await asyncio.sleep(due - loop.time())
            started, number = loop.time(), number + 1
            writer.write(json.dumps({"id": number, "prompt": "x" * 256}).encode() + b"\n")
            for _ in range(CHUNKS):
                assert await reader.readline(), "the engine hung up"
            took.append(loop.time() - started)
    finally:
        writer.close()


async def receive_reports(address: str, number: int, statuses: list[int]) -> None:
    """Be one router until cancelled: register, receive, acknowledge."""
    async with grpc.aio.insecure_channel(address, options=[("grpc.use_local_subchannel_pool", 1)]) as channel:
        call = LoadMonitorStub(channel).Monitor()
        register = RegisterRequest(
            router_id=f"router-{number}", report_interval_ms=INTERVAL_MS, lease_ttl_ms=60_000, max_unacked_reports=1
        )
        await call.write(RouterFrame(register=register))
        while isinstance(frame := await call.read(), WorkerFrame):
            if frame.WhichOneof("payload") == "report":
                statuses.append(len(frame.report.ranks))
                await call.write(RouterFrame(keep_alive=KeepAlive(acked_sequence_id=frame.report.sequence_id)))


async def measure(mode: str, file: Path, seconds: float) -> Figures:
    """Run an engine in one mode; return its figures."""
    cores = sorted(os.sched_getaffinity(0) | {0, 1} & set(range(os.cpu_count() or 1)))
    engine_core, other_core = (cores[0], cores[1]) if len(cores) > 1 else (None, None)
    command = [sys.executable, __file__, "--engine", mode, "--file", str(file)]
    async with AsyncExitStack() as stack:
        engine = stack.enter_context(process(*command, core=engine_core))
        where = json.loads(line_of(engine))
        sidecar = None
        if mode == "sidecar":
            sidecar = stack.enter_context(process(COMMAND, *SERVE, "--shm-path", str(file), core=other_core))
            where["reporter"] = line_of(sidecar).removeprefix("listening on ")
        took: list[float] = []
        statuses: list[int] = []
        tasks = [asyncio.create_task(send_requests(where["port"], took)) for _ in range(CONNECTIONS)]
        if where["reporter"]:
            tasks += [
                asyncio.create_task(receive_reports(where["reporter"], number, statuses)) for number in range(ROUTERS)
            ]
        await asyncio.sleep(1)  # to warm up
        took.clear()
        statuses.clear()
        ask(engine)
        cpu_before = 0.0 if sidecar is None else cpu_seconds(sidecar.pid)
        await asyncio.sleep(seconds)
        figures = ask(engine)
        if sidecar is not None:
            figures["sidecar"] = (cpu_seconds(sidecar.pid) - cpu_before) / seconds * 100
        for task in tasks:
            task.cancel()
        failed = [
            error for error in await asyncio.gather(*tasks, return_exceptions=True) if isinstance(error, Exception)
        ]
        assert not failed, failed
    assert mode == "off" or set(statuses) == {RANKS}, f"reports of {set(statuses)} ranks"
    figures |= {"requests": len(took) / seconds, "reports": len(statuses) / seconds}
    return figures | {"request p50": median(took) * 1e3, "request p99": quantiles(took, n=100)[98] * 1e3}


async def compare(rounds: int, seconds: float) -> float:
    """Print the table; return the CPU of embedded reporting in percent of a core."""
    found: dict[str, list[Figures]] = {mode: [] for mode in MODES}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "loads.shm"
        with process(COMMAND, "simulate", "--shm-path", str(file), "--dp-size", str(RANKS)) as publisher:
            line_of(publisher)
            for _ in range(rounds):
                for mode in MODES:
                    found[mode].append(await measure(mode, file, seconds))
    cpu = 0.0
    print(f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}; {rounds} x {seconds:g} s each")
    print(
        f"{'':<9}{'own p50':>8}{'+':>6}{'p99':>7}{'+':>6}{'max':>7}  {'all p99':>8}  {'request p50':>11}{'p99':>6}  {'CPU %':>5}"
        f"  {'requests/s':>10}{'reports/s':>10}"
    )
    quiet = {mode: {name: min(figures[name] for figures in rows) for name in rows[0]} for mode, rows in found.items()}
    off = {name: median(figures[name] for figures in found["off"]) for name in ("p50", "p99", "cpu")}
    for mode, rows in found.items():
        now = {name: median(figures[name] for figures in rows) for name in ("p50", "p99", "requests", "reports")}
        own = median(figures.get("sidecar", figures["cpu"] - off["cpu"]) for figures in rows)
        cpu = own if mode == "embedded" else cpu
        print(
            f"{mode:<9}{now['p50']:>8.2f}{now['p50'] - off['p50']:>6.2f}{now['p99']:>7.2f}{now['p99'] - off['p99']:>6.2f}"
            f"{max(figures['max'] for figures in rows):>7.2f}  {quiet[mode]['all']:>8.2f}  {quiet[mode]['request p50']:>11.1f}"
            f"{quiet[mode]['request p99']:>6.1f}  {own:>5.1f}  {now['requests']:>10.0f}{now['reports']:>10.0f}"
        )
    return cpu


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help="one round of two seconds each")
    parser.add_argument("--engine", choices=MODES, help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.engine:
        asyncio.run(run_engine(arguments.engine, arguments.file))
        return
    rounds, seconds = (1, 2.0) if arguments.short else (10, 3.0)
    cpu = asyncio.run(compare(rounds, seconds))
    if cpu > MOST_CPU_PERCENT:
        sys.exit(f"embedded reporting takes {cpu:.1f} % of a core, more than {MOST_CPU_PERCENT:g}")


if __name__ == "__main__":
    main()
