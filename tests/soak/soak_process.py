"""One end of a soak, in a process of its own: commands come in on standard input, what the process holds goes out as JSON.

    soak_process.py worker --speed 100
    soak_process.py router --speed 100 --address HOST:PORT --streams 1 --window 2

The first answer is the address of a worker, None of a router. `reports N` waits until a router has been handed so many in
all, `cycles N` makes it open and close a further stream so many times, `holds` waits for nothing; each is answered with what
the process then holds. So is `close`, which ends everything first, and then the process.

Whatever is logged or warned about goes to standard error, as do exceptions that nobody took.
"""

import argparse
import asyncio
import ctypes
import gc
import json
import resource
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import soak_plants

from loadmonitor_router import MonitorClient, WorkerReport
from loadmonitor_worker import RankSnapshot, ReporterConfig, start_load_reporter

LEASE_MS = 3_000_000
PATIENCE_MS = 3_000_000
_TIMER_GRAIN_NS = 1_000_000  # the event loop rounds what it waits up to this


class FastClock:
    """The machine's clock, running `speed` times as fast: intervals, leases and budgets shrink alike."""

    def __init__(self, speed: int) -> None:
        self._speed = speed
        self._start_ns = time.monotonic_ns()
        self._start_unix_ms = time.time_ns() // 1_000_000

    def monotonic_ns(self) -> int:
        return (time.monotonic_ns() - self._start_ns) * self._speed

    def unix_ms(self) -> int:
        return self._start_unix_ms + self.monotonic_ns() // 1_000_000

    def call_at(self, when_ns: int, callback: Callable[[], None]) -> asyncio.Handle:
        def run() -> None:
            while self.monotonic_ns() < when_ns:
                pass
            callback()

        loop = asyncio.get_running_loop()
        delay_ns = (when_ns - self.monotonic_ns()) / self._speed
        return loop.call_soon(run) if delay_ns < _TIMER_GRAIN_NS else loop.call_later(delay_ns / 1e9, run)


class Source:
    """One busy rank, freshly stamped."""

    def __init__(self, clock: FastClock) -> None:
        self._clock = clock

    def expected_dp_ranks(self) -> frozenset[int]:
        return frozenset({0})

    async def get_loads(self) -> Sequence[RankSnapshot]:
        return [
            RankSnapshot(
                dp_rank=0,
                snapshot_time_unix_ms=self._clock.unix_ms(),
                num_running_reqs=100,
                num_waiting_reqs=7,
                num_used_tokens=310_000,
                num_total_tokens=330_000,
                max_total_num_tokens=500_000,
                max_running_requests=512,
                token_usage=0.62,
            )
        ]


class _Mallinfo2(ctypes.Structure):
    _fields_ = (
        *((f"unread_{number}", ctypes.c_size_t) for number in range(7)),
        ("uordblks", ctypes.c_size_t),
        *((f"unread_{number}", ctypes.c_size_t) for number in range(7, 9)),
    )


_mallinfo2 = ctypes.CDLL(None).mallinfo2
_mallinfo2.restype = _Mallinfo2


def holdings() -> dict[str, Any]:
    """Tell what this process holds: resident memory, C heap in use, tasks, descriptors, Python objects by type."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    types = Counter(f"{type(item).__module__}.{type(item).__qualname__}" for item in gc.get_objects())
    return {
        "rss_kib": pages * resource.getpagesize() // 1_024,
        "heap_bytes": _mallinfo2().uordblks,
        "tasks": len(asyncio.all_tasks()),
        "descriptors": sum(1 for _ in Path("/proc/self/fd").iterdir()),
        "types": types,
        "cpu_seconds": time.process_time(),
    }


def say(answer: object) -> None:
    sys.stdout.write(f"{json.dumps(answer)}\n")
    sys.stdout.flush()


async def commands() -> AsyncIterator[tuple[str, int]]:
    """Yield each command with its number."""
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        word, _, number = line.strip().partition(" ")
        yield word, int(number or 0)
        if word == "close":
            return


async def work(clock: FastClock) -> None:
    """Report until told to close."""
    config = ReporterConfig(port=0, alignment="epoch", max_lease_ttl_ms=LEASE_MS, max_frames_per_second=1_000_000)
    reporter = await start_load_reporter(config, Source(clock), clock=clock)
    assert reporter is not None
    async with reporter:
        say(reporter.address)
        async for word, _ in commands():
            if word != "close":
                say(holdings() | {"fires": reporter.counters.fires})


class Routers:
    """Clients of one worker that only count."""

    def __init__(self, clock: FastClock, arguments: argparse.Namespace) -> None:
        self._clock = clock
        self._arguments = arguments
        self._awaited = 0
        self._reached = asyncio.Event()
        self.reports = 0
        self.clients = [self.client(str(number)) for number in range(arguments.streams)]

    def client(self, router_id: str) -> MonitorClient:
        return MonitorClient(
            self._arguments.address,
            router_id=router_id,
            report_interval_ms=self._arguments.interval,
            lease_ttl_ms=LEASE_MS,
            max_unacked_reports=self._arguments.window or None,
            connect_timeout_ms=PATIENCE_MS,
            ack_timeout_ms=PATIENCE_MS,
            on_report=self._count,
            clock=self._clock,
        )

    def _count(self, _: WorkerReport) -> None:
        self.reports += 1
        if self.reports >= self._awaited:
            self._reached.set()

    async def until(self, reports: int) -> None:
        """Wait until so many reports have been handed over in all."""
        self._awaited = reports
        self._reached.clear()
        if self.reports < reports:
            await self._reached.wait()

    async def cycle(self) -> None:
        """Open a stream, take a report, close it."""
        async with self.client("cycle"):
            await self.until(self.reports + 1)

    def losses(self) -> dict[str, int]:
        connections = [client.connection for client in self.clients]
        return {
            "reconnects": sum(connection.reconnects for connection in connections),
            "dropped": sum(sum(connection.dropped.values()) for connection in connections),
        }


async def route(clock: FastClock, arguments: argparse.Namespace) -> None:
    """Dial, and count until told to close."""
    routers = Routers(clock, arguments)
    await asyncio.gather(*(client.__aenter__() for client in routers.clients))
    say(None)
    async for word, number in commands():
        if word == "reports":
            await routers.until(number)
        for _ in range(number if word == "cycles" else 0):
            await routers.cycle()
        if word != "close":
            say(holdings() | routers.losses() | {"reports": routers.reports})
    await asyncio.gather(*(client.close() for client in routers.clients))


async def live(arguments: argparse.Namespace) -> None:
    """Play the part, then tell what it left behind."""
    clock = FastClock(arguments.speed)
    await asyncio.get_running_loop().run_in_executor(None, gc.collect)  # the thread that will read commands
    before = holdings()
    await (work(clock) if arguments.part == "worker" else route(clock, arguments))
    after = holdings()
    say({key: after[key] - before[key] for key in ("tasks", "descriptors")})


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("part", choices=("worker", "router"))
    parser.add_argument("--speed", type=int, default=1)
    parser.add_argument("--address")
    parser.add_argument("--streams", type=int, default=0)
    parser.add_argument("--interval", type=int, default=10)
    parser.add_argument("--window", type=int, default=1, help="0: no acknowledgements")
    parser.add_argument("--plant", choices=soak_plants.PLANTS)
    arguments = parser.parse_args()
    if arguments.plant:
        soak_plants.PLANTS[arguments.plant]()
    asyncio.run(live(arguments))


if __name__ == "__main__":
    main()
